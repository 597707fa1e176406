import * as z from 'zod/mini';
import { chooseColumns } from '../../core/columns/columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { EXPORT_SCOPE } from '../../core/config/scopes.ts';
import { type CrmAnswer, contentType, parsedBody } from '../../core/crm/answers.ts';
import { nameOf } from '../../core/crm/call.ts';
import { type CrmClient, createCrmClient } from '../../core/crm/crm-client.ts';
import { createExport, readStatus, requestDownload } from '../../core/crm/exports.ts';
import { type Field, readFields } from '../../core/crm/fields.ts';
import { shapeOf } from '../../core/crm/read-body.ts';
import { RunError } from '../../core/errors.ts';
import { planFor } from '../../core/export/plan.ts';
import { buildRequest } from '../../core/export/request.ts';
import type { AccessToken } from '../../core/oauth/access-token.ts';
import { isAllowedHost, printableHost } from '../../transfer/source/guard.ts';
import { noteFile, policyOf } from './probe-file.ts';
import { assumed, failing, type Notes, notSeen } from './probe-points.ts';

/**
 * Calls the CRM with the code of a run. It does not repeat a refused call, and makes at most one export. It keeps only
 * the form of the answers: names, types, status words, times and sizes; no value of a record, token or file address.
 */

/** A call to the CRM, as the report shows it. */
export const callSchema = z.strictObject({
  call: z.string().check(z.describe('As the interface document writes it.')),
  status: z.nullable(z.int()).check(z.describe('null: the CRM did not answer.')),
  milliseconds: z.int(),
  mediaType: z.string(),
  shape: z.string().check(z.describe('Keys and types of the body.')),
  code: z.nullable(z.string()).check(z.describe('The code of an error.')),
});
export type Call = z.infer<typeof callSchema>;

/** What the probe has observed so far. */
export interface Observations {
  calls: Call[];
  /** The one that is exported. */
  entity?: Entity;
  notes: Notes;
}

export interface ProbeContext {
  deployment: Deployment;
  token: AccessToken;
  /** Default: the first entity whose fields a run can read. */
  entity?: Entity | undefined;
  sleep: (ms: number) => Promise<void>;
  signal: AbortSignal;
  onCall: (call: Call) => void;
}

/**
 * Reads the fields of all entities, makes one export of one column, and fetches its file.
 * @param observed collects the observations, also if this function throws
 * @throws RunError as a run would, TransferError, RetryableError, the reason of the signal
 */
export async function makeCalls(context: ProbeContext, observed: Observations): Promise<void> {
  const { deployment, token } = context;
  const { notes } = observed;
  const crm = recordingClient(context, observed);
  const scopes = token.scope.split(/\s+/).filter(Boolean);
  try {
    const { entity, fields } = await readLists(crm, context, observed);
    observed.entity = entity;
    const column = columnOf(deployment, entity, fields);
    const time = { timeoutMs: deployment.crm.createTimeoutSeconds * 1000 };
    const request = requestOf(deployment, entity, column);
    const id = await noting('export-id-field', notes, () => createExport(crm, entity, request, time));
    notes['export-id-field'] = assumed('The answer has a UUID.');
    const how = scopes.includes(EXPORT_SCOPE) ? 'with' : 'without';
    notes['export-scope'] =
      scopes.length > 0
        ? assumed(`An export is accepted ${how} ${EXPORT_SCOPE}.`)
        : notSeen('The CRM did not say which scopes the grant has.');
    await waitFor(crm, context, observed, { entity, id });
    const address = await noting('file-host', notes, () => requestDownload(crm, entity, id));
    const { hostname } = new URL(address);
    const text = `Files come from ${printableHost(hostname)}`;
    const isListed = isAllowedHost(hostname, policyOf(deployment));
    notes['file-host'] = isListed ? assumed(`${text}.`) : failing(`${text}, which is not listed.`);
    if (isListed) await noteFile(address, context, { entity, fields, column, notes });
  } catch (error) {
    if (error instanceof RunError && error.status === 403 && scopes.includes(EXPORT_SCOPE)) {
      notes['export-scope'] = failing(error.message);
    }
    throw error;
  }
}

/** Notes an answer that a run cannot read. No setting helps then. */
async function noting<T>(id: keyof Notes, notes: Notes, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RunError && error.name === 'CrmContractError') {
      notes[id] = { ...failing(error.message), setting: null };
    }
    throw error;
  }
}

/** The client of a run, which also records shapes. It has one token, so it repeats no call after a 401 or 403. */
function recordingClient(
  { deployment, token, signal, onCall }: ProbeContext,
  { calls, notes }: Observations,
): CrmClient {
  const log = { info: () => undefined, error: () => undefined };
  const now = () => new Date();
  const crm = createCrmClient({ baseUrl: deployment.crm.baseUrl, getAccessToken: async () => token, log, now, signal });
  return {
    call: async (call, schema) => {
      const began = performance.now();
      // A call that was not sent is shown like one without an answer.
      const unsent = (reason: unknown) => ({ answer: undefined, error: reason });
      const { answer, error } = await crm.exchange(call).catch(unsent);
      signal.throwIfAborted();
      const kept = { call: nameOf(call), milliseconds: Math.round(performance.now() - began), ...formOf(answer) };
      calls.push(kept);
      onCall(kept);
      if (answer?.status === 401) {
        noteScheme(answer, notes);
        throw new RunError('AuthRefused', `${nameOf(call)} was answered 401: the CRM refuses the stored token.`);
      }
      if (error || !answer) throw error;
      return parsedBody(answer, call, schema);
    },
  };
}

/** The form of an answer. */
function formOf(answer: CrmAnswer | undefined): Omit<Call, 'call' | 'milliseconds'> {
  if (!answer) return { status: null, mediaType: '', shape: 'no JSON (0 characters)', code: null };
  const { status, body, characters, code = null } = answer;
  const shape = body === undefined ? `no JSON (${characters} characters)` : shapeOf(body);
  return { status, mediaType: contentType(answer).replace(/[() ]/g, ''), shape, code };
}

function noteScheme({ headers }: CrmAnswer, notes: Notes): void {
  const scheme = /^[a-z]{1,20}(?= |$)/i.exec(headers.get('www-authenticate') ?? '')?.[0] ?? 'bearer';
  if (!/^bearer$/i.test(scheme)) notes['token-presentation'] = failing(`The CRM asks for the scheme ${scheme}.`);
}

/** The fields of an entity, or why a run could not read them. */
type List = { entity: Entity } & ({ fields: Field[]; error?: undefined } | { fields?: undefined; error: RunError });

async function listOf(crm: CrmClient, entity: Entity): Promise<List> {
  try {
    return { entity, fields: await readFields(crm, entity) };
  } catch (error) {
    if (error instanceof RunError) return { entity, error };
    throw error;
  }
}

/** The fields of the wanted entity, or of the first entity whose fields a run can read. @throws RunError */
async function readLists(crm: CrmClient, { entity: wanted }: ProbeContext, { calls, notes }: Observations) {
  const lists: List[] = [];
  for (const entity of new Set([wanted ?? 'leads', ...ENTITIES])) {
    const list = await listOf(crm, entity);
    lists.push(list);
    noteLists(lists, notes);
    // The other calls would end with the same error.
    const isForAll = list.error?.transient || (calls.length === 1 && calls[0]?.status === 401);
    if (list.error && (isForAll || entity === wanted)) throw list.error;
  }
  const chosen = lists.find(({ fields }) => fields);
  if (chosen?.fields) return { entity: chosen.entity, fields: chosen.fields };
  throw lists[0]?.error ?? new RunError('CrmContractError', 'The CRM lists no fields.');
}

function noteLists(lists: List[], notes: Notes): void {
  const read = lists.filter(({ error }) => !error);
  if (read.length > 0) notes['token-presentation'] = assumed('Authorization: Bearer is accepted.');
  // Without an answer, at a 401, 429 or 503, the fields are not known. A 403 for all entities concerns the scope.
  const others = [undefined, 401, 429, 503, ...(read.length > 0 ? [] : [403])];
  const refused = lists.filter(({ error }) => !others.includes(error?.status));
  const unread = lists.find(({ error }) => error?.name === 'CrmContractError')?.error;
  const names = refused.map(({ entity, error }) => `${entity} (${error?.status})`).join(', ');
  if (unread) notes['fields-shape'] = failing(unread.message);
  else if (refused.length > 0) notes['fields-shape'] = failing(`The CRM refuses the fields of ${names}.`);
  else if (read.length > 0) notes['fields-shape'] = assumed(`${read.length} entities answer a list with fieldName.`);
}

/** The id, which is the least personal column, or else the first that a run requests. @throws RunError if it requests none */
function columnOf(deployment: Deployment, entity: Entity, fields: Field[]): string {
  const { requested } = chooseColumns(planFor(deployment.entities[entity], { entity }), fields, undefined);
  return requested.find((name) => name === 'id') ?? requested[0] ?? '';
}

/** The request of a run, without its filters, its sort order and its mail. */
function requestOf({ crm, entities }: Deployment, entity: Entity, column: string) {
  const { sorts: _, filters: __, filtersOperator: ___, ...plan } = entities[entity];
  return buildRequest({ entity }, { ...plan, sendEmail: false }, crm, [column]);
}

const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 15_000;

/** Reads the status until the export is PROCESSED. @throws RunError */
async function waitFor(
  crm: CrmClient,
  { deployment, sleep }: ProbeContext,
  { notes }: Observations,
  { entity, id }: { entity: Entity; id: string },
): Promise<void> {
  const { deadlineSeconds } = deployment.entities[entity].polling;
  const words = new Set<string>();
  let seconds = 0;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 1.5, LONGEST_WAIT_MS)) {
    const { status } = await readStatus(crm, entity, id).catch((error: unknown) => {
      if (!(error instanceof RunError && error.name === 'CrmContractError')) throw error;
      // Either the status is none of the known words, or the record cannot be read.
      const point = error.message.startsWith('The status of export') ? 'status-words' : 'status-record';
      return noting(point, notes, () => Promise.reject(error));
    });
    words.add(status);
    notes['status-record'] = assumed('The answer has a status.');
    notes['status-words'] = assumed(`${[...words].join(', ')}.`);
    if (status === 'PROCESSED') return;
    if (status === 'FAILED') throw new RunError('ExportFailed', 'The CRM reports the export as FAILED.');
    seconds += wait / 1000;
    if (seconds > deadlineSeconds) {
      throw new RunError('ExportDeadlineExceeded', `The export is ${status} after ${deadlineSeconds} s.`);
    }
    await sleep(wait);
  }
}
