import * as z from 'zod/mini';
import type { Entity } from '../entities.ts';
import { RunError } from '../errors.ts';
import type { ExportRequest } from '../states.ts';
import { shapeOf, unwrapped } from './answers.ts';
import type { CrmClient } from './client.ts';

/** The three stages of an export (`docs/interface/`, section 4.2). */

const ID_FIELDS = ['id', 'uuid', 'exportId'];

/** The id as a bare string, or under one of three names, by itself or under `data`. */
const idSchema = z.union([z.guid(), ...ID_FIELDS.map((field) => fieldSchema(field, z.guid()))]);
const createdSchema = z.union([idSchema, fieldSchema('data', idSchema)]);

/** One field of an object, taken out of it. */
function fieldSchema<T>(field: string, schema: z.core.$ZodType<T>) {
  return z.pipe(
    z.object({ [field]: schema }),
    z.transform((answer: Record<string, T>) => answer[field]),
  );
}

/** Words of the document, in any letter case. */
const STATUSES = ['INITIATED', 'PROCESSING', 'PROCESSED', 'FAILED'] as const;
export interface StatusAnswer {
  status: (typeof STATUSES)[number];
  retryAfterSeconds?: number | undefined;
}

const recordSchema = unwrapped(z.object({ status: z.string(), id: z.optional(z.unknown()) }), 'data');

const linkSchema = unwrapped(z.object({ url: z.url() }), 'data');

/** Stage 1. @throws RunError `CrmContractError` when the answer holds no UUID, and what `CrmClient.call` throws. */
export async function createExport(crm: CrmClient, entity: Entity, request: ExportRequest): Promise<string> {
  const template = `/${entity}/exports`;
  const answer = await crm.call({ method: 'post', path: `${entity}/exports`, template, json: request }, z.unknown());
  const id = createdSchema.safeParse(answer);
  if (id.success && id.data) return id.data;
  throw new RunError('CrmContractError', `POST ${template} answered no UUID of an export: ${shapeOf(answer)}.`);
}

/**
 * Stage 2: the status, and the wait in seconds that the service asks for until the next look, if it does.
 * @throws RunError `CrmContractError` on any other word and on the record of another export.
 */
export async function readStatus(crm: CrmClient, entity: Entity, exportId: string): Promise<StatusAnswer> {
  let retryAfterSeconds: number | undefined;
  const template = `/${entity}/exports/{id}`;
  const record = await crm.call(
    { method: 'get', path: `${entity}/exports/${exportId}`, template },
    recordSchema,
    (seconds) => {
      retryAfterSeconds = seconds;
    },
  );
  if (z.guid().safeParse(record.id).success && String(record.id).toLowerCase() !== exportId.toLowerCase()) {
    throw new RunError('CrmContractError', `GET ${template} answered the record of another export than ${exportId}.`);
  }
  const word = record.status.trim().toUpperCase();
  const status = STATUSES.find((known) => known === word);
  if (status) return { status, retryAfterSeconds };
  const quoted = /^[A-Z][A-Z_ -]{0,23}$/.test(word) ? `"${word}"` : `a word of ${word.length} characters`;
  throw new RunError(
    'CrmContractError',
    `The status of export ${exportId} is ${quoted}; known are ${STATUSES.join(', ')}.`,
  );
}

/**
 * Stage 3: the address of the file. It is a secret that lives for minutes: use it at once, and nowhere but in a request.
 * @throws RunError `ExportNotReady` when the service does not give it out yet (409 is common, any such refusal counts).
 */
export async function requestDownload(crm: CrmClient, entity: Entity, exportId: string): Promise<string> {
  const template = `/${entity}/exports/{id}/download`;
  const call = { method: 'post', path: `${entity}/exports/${exportId}/download`, template } as const;
  try {
    return (await crm.call(call, linkSchema)).url;
  } catch (error) {
    if (error instanceof RunError && error.name === 'CrmRejectedRequest') {
      throw new RunError(
        'ExportNotReady',
        `The service does not give out the file of export ${exportId} yet: ${error.message}`,
      );
    }
    throw error;
  }
}
