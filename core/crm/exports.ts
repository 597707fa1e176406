import * as z from 'zod/mini';
import type { Entity } from '../config/entities.ts';
import { RunError } from '../errors.ts';
import type { ExportRequest } from '../step/states.ts';
import { shapeOf, unwrapped } from './answers.ts';
import type { CrmCall } from './call.ts';
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

/** Servers of one CRM may not know an export at first, or while one of them is down. */
const UNKNOWN_SECONDS = 1800;

/** @param since when the CRM has not known the export */
export function mayBecomeKnown(since: string, now: Date): boolean {
  return now.getTime() - Date.parse(since) < UNKNOWN_SECONDS * 1000;
}

/** The id in an answer to stage 1; `undefined` where it holds none. */
function exportIdIn(answer: unknown): string | undefined {
  const id = createdSchema.safeParse(answer);
  return id.success && id.data ? id.data : undefined;
}

/** The statuses of an export; the CRM may write them in any letter case. */
const STATUSES = ['INITIATED', 'PROCESSING', 'PROCESSED', 'FAILED'] as const;
export interface StatusAnswer {
  status: (typeof STATUSES)[number];
  retryAfterSeconds?: number | undefined;
}

/** Errors that do not say whether the CRM knows an export: they interrupt a row of `ExportNotFound`. */
export function isOutage(error: unknown): error is RunError {
  return error instanceof RunError && ['CrmUnavailable', 'RateLimited', 'CrmContractError'].includes(error.name);
}

const plainRecord = z.looseObject({ status: z.string() });
const wrappedRecord = fieldSchema('data', plainRecord);

/**
 * The record comes bare or under `data`. Both may have a `status` and an id: a bare one has a known status, or the id
 * of the export.
 */
function recordSchema(exportId: string) {
  const recordIn = (answer: unknown): unknown => {
    const bare = plainRecord.safeParse(answer).data;
    if (bare && (wordOf(bare.status) || idsOf(bare).some((id) => isSameId(id, exportId)))) return answer;
    const wrapped = wrappedRecord.safeParse(answer);
    return wrapped.success ? wrapped.data : answer;
  };
  return z.pipe(z.transform(recordIn), plainRecord);
}

function isSameId(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function idsOf(record: Record<string, unknown>): string[] {
  return ID_FIELDS.flatMap((field) => z.guid().safeParse(record[field]).data ?? []);
}

/** The status that a word of the CRM means; `undefined` for one that is not known. */
function wordOf(status: string): StatusAnswer['status'] | undefined {
  const word = status.trim().toUpperCase();
  return STATUSES.find((known) => known === word);
}

const linkSchema = unwrapped(z.object({ url: z.url() }), 'data');

/** Stage 1. @throws RunError `CrmContractError` when the answer holds no UUID, and what `CrmClient.call` throws */
export async function createExport(
  crm: CrmClient,
  entity: Entity,
  request: ExportRequest,
  time: Pick<CrmCall, 'timeoutMs' | 'secondsLeft'>,
): Promise<string> {
  const template = `/${entity}/exports`;
  const call = { method: 'post', path: `${entity}/exports`, template, json: request, ...time } as const;
  const answer = await crm.call(call, z.unknown());
  const id = exportIdIn(answer);
  if (id !== undefined) return id;
  throw new RunError('CrmContractError', `POST ${template} answered no UUID of an export: ${shapeOf(answer)}.`);
}

/** Stage 2. @throws RunError `CrmContractError` on any other word and on the record of another export */
export async function readStatus(crm: CrmClient, entity: Entity, exportId: string): Promise<StatusAnswer> {
  let retryAfterSeconds: number | undefined;
  const template = `/${entity}/exports/{id}`;
  const record = await crm.call(
    { method: 'get', path: `${entity}/exports/${exportId}`, template },
    recordSchema(exportId),
    (seconds) => {
      retryAfterSeconds = seconds;
    },
  );
  const ids = idsOf(record);
  if (ids.length > 0 && !ids.some((id) => isSameId(id, exportId))) {
    throw new RunError('CrmContractError', `GET ${template} answered the record of another export than ${exportId}.`);
  }
  const status = wordOf(record.status);
  if (status) return { status, retryAfterSeconds };
  const word = record.status.trim().toUpperCase();
  const quoted = /^[A-Z][A-Z_ -]{0,23}$/.test(word) ? `"${word}"` : `a word of ${word.length} characters`;
  const what = `The status of export ${exportId} is ${quoted}; known are ${STATUSES.join(', ')}.`;
  throw new RunError('CrmContractError', what);
}

/**
 * Stage 3: the address of the file, a secret that lives for minutes.
 * @throws RunError `ExportNotReady` when the CRM refuses it (409 or another 4xx); `ExportNotFound` on 404 and 410,
 *   which may mean the same
 */
export async function requestDownload(crm: CrmClient, entity: Entity, exportId: string): Promise<string> {
  const template = `/${entity}/exports/{id}/download`;
  const call = { method: 'post', path: `${entity}/exports/${exportId}/download`, template } as const;
  try {
    return (await crm.call(call, linkSchema)).url;
  } catch (error) {
    if (!(error instanceof RunError) || error.name !== 'CrmRejectedRequest') throw error;
    const what = `The CRM does not give out the file of export ${exportId} yet: ${error.message}`;
    throw new RunError('ExportNotReady', what, { status: error.status });
  }
}
