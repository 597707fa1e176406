import * as z from 'zod/mini';
import type { Entity } from '../config/entities.ts';
import { RunError } from '../errors.ts';
import type { ExportRequest } from '../step/states.ts';
import { type CrmCall, nameOf } from './call.ts';
import type { CrmClient } from './crm-client.ts';
import { exportIdIn, isOfExport, linkSchema, recordSchema, STATUSES, shapeOf, statusOf } from './read-body.ts';

/** The three stages of an export (`docs/interface/reference.md`). */

/**
 * How long the CRM may answer 404 for an export. It may do so soon after the export's creation, or during an outage.
 */
const UNKNOWN_SECONDS = 1800;

/** @param since when the CRM first answered that the export does not exist */
export function mayStillAppear(since: string, now: Date): boolean {
  return now.getTime() - Date.parse(since) < UNKNOWN_SECONDS * 1000;
}

/** Whether an error leaves open if the export exists. Such an error interrupts a series of `ExportNotFound` errors. */
export function isOutage(error: unknown): error is RunError {
  return (
    error instanceof RunError && ['CrmUnavailable', 'CrmBusy', 'RateLimited', 'CrmContractError'].includes(error.name)
  );
}

/** Creates an export (stage 1). @throws RunError `CrmContractError` if the answer has no UUID; as `CrmClient.call` */
export async function createExport(
  crm: CrmClient,
  entity: Entity,
  request: ExportRequest,
  time: Pick<CrmCall, 'timeoutMs' | 'secondsLeft'>,
): Promise<string> {
  const call: CrmCall = { operation: 'create', entity, json: request, ...time };
  const answer = await crm.call(call, z.unknown());
  const id = exportIdIn(answer);
  if (id !== undefined) return id;
  throw new RunError('CrmContractError', `${nameOf(call)} returned no UUID of an export: ${shapeOf(answer)}.`);
}

/** Reads the status (stage 2). @throws RunError `CrmContractError` for an unlisted status or another export's record */
export async function readStatus(crm: CrmClient, entity: Entity, exportId: string) {
  let retryAfterSeconds: number | undefined;
  const call: CrmCall = { operation: 'status', entity, id: exportId };
  const record = await crm.call(call, recordSchema(exportId), (seconds) => {
    retryAfterSeconds = seconds;
  });
  if (isOfExport(record, exportId) === false) {
    throw new RunError('CrmContractError', `${nameOf(call)} returned the record of an export other than ${exportId}.`);
  }
  const status = statusOf(record.status);
  if (status) return { status, retryAfterSeconds };
  const word = record.status.trim().toUpperCase();
  const quoted = /^[A-Z][A-Z_ -]{0,23}$/.test(word) ? `"${word}"` : `a word of ${word.length} characters`;
  const what = `The status of export ${exportId} is ${quoted}, not one of ${STATUSES.join(', ')}.`;
  throw new RunError('CrmContractError', what, { part: 'status word' });
}

/**
 * Requests the URL of the file (stage 3). The URL is a secret, and valid for minutes.
 * @throws RunError `ExportNotReady` if the CRM refuses the call (409 or another 4xx) or returns no URL;
 *   `ExportNotFound` after 404 and 410, which may also mean that the file is not ready
 */
export async function requestDownload(crm: CrmClient, entity: Entity, exportId: string): Promise<string> {
  return (await crm.call({ operation: 'address', entity, id: exportId }, linkSchema)).url;
}
