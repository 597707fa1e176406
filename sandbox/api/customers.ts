import type { Context } from 'hono';
import { z } from 'zod';
import { type CrmRecord, indexOf } from '../data/records.ts';
import { problem } from '../world/answers.ts';
import { bytesOf, rowsOf, type Settings } from '../world/settings.ts';
import { track } from '../world/track.ts';
import type { SandboxApp, SandboxEnv, World } from '../world/world.ts';
import { bearer } from './bearer.ts';
import { fieldsAtFault } from './customer-rules.ts';
import { readJson } from './exports.ts';

function customerIndex(world: World, id: string): number {
  const index = z.guid().safeParse(id).success ? indexOf('customers', id) : null;
  const count = bytesOf(world.settings, 'customers') === null ? rowsOf(world.settings, 'customers') : Number.MAX_VALUE;
  if (index === null || index >= count || !world.records.has('customers', index)) {
    throw problem(world, { status: 404, code: 'not_found', message: 'There is no such customer.' });
  }
  return index;
}

/** The values that a kept field may get. */
const changeSchema = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));
const updateSchema = z.record(z.string(), z.unknown());

function readUpdate(world: World, body: unknown): Record<string, unknown> {
  const object = updateSchema.safeParse(body);
  const fields = object.success ? fieldsAtFault(object.data, world.settings.acceptsNull) : [];
  if (object.success && fields.length === 0) return object.data;
  const message = `Not valid: ${fields.join(', ') || 'the body'}.`;
  throw problem(world, { status: 422, code: 'validation_failed', message, fields });
}

/** What is kept: everything but the flag that steers the update and the deprecated object. */
function toChange({ updateRelated: _flag, customFields: _deprecated, ...update }: Record<string, unknown>): CrmRecord {
  return changeSchema.parse(update);
}

function withCanary(record: CrmRecord, canary: string): CrmRecord {
  if (canary === '') return record;
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, `${value ?? ''} ${canary}`]));
}

const ANSWERS: Record<Settings['updateAnswer'], (record: CrmRecord) => Response> = {
  record: (record) => Response.json(record),
  array: (record) => Response.json([record]),
  text: () => Response.json('updated'),
  nothing: () => new Response(null, { status: 204 }),
};

async function update(world: World, c: Context<SandboxEnv>): Promise<Response> {
  const call = c.get('call');
  const id = c.req.param('id') ?? '';
  Object.assign(call, { customerId: id, applied: false });
  const body = await readJson(world, c);
  if (typeof body === 'object' && body !== null) call.fieldNames = Object.keys(body);
  const index = customerIndex(world, id);
  const record = world.records.updateCustomer(index, toChange(readUpdate(world, body)));
  call.applied = true;
  return ANSWERS[world.settings.updateAnswer](withCanary(record, world.settings.canary));
}

/** `PATCH /customers/{id}` (interface document, section 4.1). */
export function addCustomers(app: SandboxApp, world: World): void {
  const mayUpdate = bearer(world, () => 'customers:update');
  app.patch('/api/v1/customers/:id', track(world, 'update'), mayUpdate, (c) => update(world, c));
}
