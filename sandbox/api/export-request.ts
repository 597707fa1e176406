import { z } from 'zod';
import type { Entity } from '../../core/config/entities.ts';
import { fieldNames } from '../data/columns.ts';
import { problem } from '../world/answers.ts';
import type { ExportRequest } from '../world/jobs.ts';
import type { LedgerCall } from '../world/ledger.ts';
import type { World } from '../world/world.ts';

const requestShape = {
  columns: z.array(z.string()).nonempty(),
  sorts: z.array(z.object({ field: z.string(), dir: z.enum(['asc', 'desc']) })).default([]),
  filters: z.array(z.object({ field: z.string(), operator: z.string(), value: z.unknown() })).default([]),
  filtersOperator: z.enum(['and', 'or']).default('and'),
  sendEmail: z.boolean().default(false),
};

const requestSchema = z.looseObject(requestShape);

/**
 * The export request in a body; keys that the document does not have are accepted and noted in the ledger.
 * @throws HTTPException 400 that names what does not hold, unknown field names included.
 */
export function readExportRequest(world: World, call: LedgerCall, entity: Entity, body: unknown): ExportRequest {
  call.request = body;
  const parsed = requestSchema.safeParse(body);
  if (!parsed.success) {
    throw problem(world, { status: 400, code: 'invalid_request', message: z.prettifyError(parsed.error) });
  }
  const request = parsed.data;
  call.unknownKeys = Object.keys(request).filter((key) => !Object.hasOwn(requestShape, key));
  const known = new Set(fieldNames(entity));
  const used = [...request.columns, ...[...request.sorts, ...request.filters].map(({ field }) => field)];
  const fields = used.filter((name) => !known.has(name));
  if (fields.length > 0) {
    const message = `Not fields of ${entity}: ${fields.join(', ')}.`;
    throw problem(world, { status: 400, code: 'unknown_field', message, fields });
  }
  return request;
}
