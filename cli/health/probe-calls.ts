import { chooseColumns } from '../../core/columns/columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { EXPORT_SCOPE } from '../../core/config/scopes.ts';
import { type CrmAnswer, contentType, meaningOf, parsedBody } from '../../core/crm/answers.ts';
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
import { assumed, failing, type Notes, notSeen, tolerated } from './probe-points.ts';

/**
 * Calls the CRM with the code of a run. It does not repeat a refused call, and makes at most one export. It keeps only
 * the form of the answers: names, types, status words, times and sizes; no value of a record, token or file address.
 */

/** A call to the CRM, as the report shows it. */
export interface Call {
  /** The call as the interface document writes it: `GET /leads/fields`. */
  call: string;
  /** `null` = no answer. */
  status: number | null;
  milliseconds: number;
  mediaType: string;
  /** Keys and types of the body. */
  shape: string;
  /** The error code in the body. */
  code: string | null;
}

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
  /** A monotonic clock in milliseconds. */
  elapsed: () => number;
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
  const crm = keepingClient(context, observed);
  const scopes = token.scope.split(/\s+/).filter(Boolean);
  try {
    const { entity, fields } = await chosenList(crm, context, observed);
    observed.entity = entity;
    const column = columnOf(deployment, entity, fields);
    const time = { timeoutMs: deployment.crm.createTimeoutSeconds * 1000 };
    const request = requestOf(deployment, entity, column);
    const id = await noting('export-id-field', notes, () => createExport(crm, entity, request, time));
    notes['export-id-field'] = placeNote(placeOf(crm.last(), ['id', 'uuid', 'exportId'], id), 'id');
    if (scopes.includes(EXPORT_SCOPE)) notes['export-scope'] = assumed(`An export is accepted with ${EXPORT_SCOPE}.`);
    else if (scopes.length > 0) notes['export-scope'] = tolerated(`An export is accepted without ${EXPORT_SCOPE}.`);
    await waitFor(crm, context, observed, { entity, id });
    const address = await noting('file-host', notes, () => requestDownload(crm, entity, id));
    if (noteLink(new URL(address), deployment, notes)) {
      await noteFile(address, context, { entity, fields, column, notes });
    }
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

/** `last`: returns the body of the last answer, to find the places of values in it. */
interface KeepingClient extends CrmClient {
  last: () => unknown;
}

/** The client of a run, which also records shapes. It has one token, so it repeats no call after a 401 or 403. */
function keepingClient(
  { deployment, token, elapsed, signal, onCall }: ProbeContext,
  observed: Observations,
): KeepingClient {
  const log = { info: () => undefined, error: () => undefined };
  const now = () => new Date();
  const crm = createCrmClient({ baseUrl: deployment.crm.baseUrl, getAccessToken: async () => token, log, now, signal });
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  aborted.catch(() => undefined);
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  let body: unknown;
  const call: CrmClient['call'] = async (call, schema) => {
    const began = elapsed();
    const exchange = await Promise.race([crm.exchange(call), aborted]);
    body = exchange.response?.body;
    const kept = { call: nameOf(call), milliseconds: Math.round(elapsed() - began), ...formOf(exchange.response) };
    observed.calls.push(kept);
    onCall(kept);
    if (!exchange.response) throw exchange.unanswered;
    const { response } = exchange;
    if (response.status === 401) {
      noteScheme(response, observed.notes);
      throw new RunError('AuthRefused', `${nameOf(call)} was answered 401: the CRM refuses the stored token.`);
    }
    const { error } = meaningOf({ call, answer: response, scope: token.scope }, now());
    if (error) throw error;
    return parsedBody(response, call, schema);
  };
  return { call, last: () => body };
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
interface List {
  entity: Entity;
  fields?: Field[];
  /** Where in the answer they are. */
  at?: string;
  error?: RunError;
}

async function listOf(crm: KeepingClient, entity: Entity): Promise<List> {
  try {
    const fields = await readFields(crm, entity);
    return { entity, fields, at: placeOf(crm.last(), ['data', 'fields', 'items']) };
  } catch (error) {
    if (error instanceof RunError) return { entity, error };
    throw error;
  }
}

/** The fields of the wanted entity, or of the first entity whose fields a run can read. @throws RunError */
async function chosenList(crm: KeepingClient, { entity: wanted }: ProbeContext, { calls, notes }: Observations) {
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
  const agents = lists.find(({ entity }) => entity === 'agent-numbers');
  // Only the fields of agent numbers may have another address.
  const isMissing = agents?.error?.status === 404 && read.length > 0;
  if (isMissing) {
    notes['agent-numbers-address'] = failing(
      'The CRM answers 404 for their fields, and not for those of other entities.',
    );
  } else if (agents && !agents.error) {
    notes['agent-numbers-address'] = assumed('Their fields are answered at agent-numbers.');
  }
  if (read.length > 0) notes['token-presentation'] = assumed('Authorization: Bearer is accepted.');
  // Without an answer, at a 401, 429 or 503, the fields are not known. A 403 for all entities concerns the scope.
  const others = [undefined, 401, 429, 503, ...(read.length > 0 ? [] : [403])];
  const refused = lists.filter((list) => !others.includes(list.error?.status) && !(isMissing && list === agents));
  const unread = lists.find(({ error }) => error?.name === 'CrmContractError')?.error;
  const elsewhere = read.find(({ at }) => at !== 'list');
  const names = refused.map(({ entity, error }) => `${entity} (${error?.status})`).join(', ');
  const note = unread
    ? failing(unread.message)
    : refused.length > 0
      ? failing(`The CRM refuses the fields of ${names}.`)
      : elsewhere
        ? tolerated(`The list is in ${elsewhere.at}.`)
        : assumed(`${read.length} entities answer an array with fieldName.`);
  if (read.length + refused.length > 0 || unread) notes['fields-shape'] = note;
}

/** The least personal of the columns that a run requests. @throws RunError if a run requests no column */
function columnOf(deployment: Deployment, entity: Entity, fields: Field[]): string {
  const { requested } = chooseColumns(planFor(deployment.entities[entity], { entity }), fields, undefined);
  const allowed = fields.filter(({ name }) => requested.includes(name));
  const harmless = allowed.find(({ type }) => /uuid|bool|int/i.test(type ?? ''));
  const column = allowed.find(({ name }) => name === 'id') ?? harmless ?? allowed[0];
  if (column) return column.name;
  throw new RunError('ConfigInvalid', `The configuration of ${entity} chooses no column that the CRM lists.`);
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
  crm: KeepingClient,
  { deployment, elapsed, sleep }: ProbeContext,
  { notes }: Observations,
  { entity, id }: { entity: Entity; id: string },
): Promise<void> {
  const { deadlineSeconds } = deployment.entities[entity].polling;
  const began = elapsed();
  const words = new Map<string, string>();
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 1.5, LONGEST_WAIT_MS)) {
    const { status } = await readStatus(crm, entity, id).catch((error: unknown) => {
      if (!(error instanceof RunError && error.name === 'CrmContractError')) throw error;
      // Either the status is none of the known words, or the record cannot be read.
      const point = error.message.startsWith('The status of export') ? 'status-words' : 'status-record';
      return noting(point, notes, () => Promise.reject(error));
    });
    const seconds = Math.round((elapsed() - began) / 100) / 10;
    notes['status-record'] ??= placeNote(placeOf(crm.last(), ['status'], status), 'status');
    if (!words.has(status)) words.set(status, `${status} after ${seconds} s`);
    notes['status-words'] = assumed(`${[...words.values()].join(', ')}.`);
    if (status === 'PROCESSED') return;
    if (status === 'FAILED') throw new RunError('ExportFailed', 'The CRM reports the export as FAILED.');
    if (seconds + wait / 1000 > deadlineSeconds)
      throw new RunError('ExportDeadlineExceeded', `The export is ${status} after ${seconds} s.`);
    await sleep(wait);
  }
}

function placeNote(at: string, usual: string) {
  return at === usual ? assumed(`It is in ${at}.`) : tolerated(`It is in ${at}.`);
}

/**
 * The key of a value in an answer, at the top level or below `data`; `list` or `text` if the answer has no keys.
 * @param value the value that a run read there, in any letter case
 */
function placeOf(body: unknown, keys: string[], value?: string): string {
  if (typeof body !== 'object' || body === null) return 'text';
  if (Array.isArray(body)) return 'list';
  const isHere = (key: string) =>
    key in body && (value === undefined || wordOf(Reflect.get(body, key)) === wordOf(value));
  const data = 'data' in body ? body.data : undefined;
  return keys.find(isHere) ?? (data === undefined ? 'elsewhere' : `data.${placeOf(data, keys, value)}`);
}

function wordOf(value: unknown): unknown {
  return typeof value === 'string' ? value.trim().toLowerCase() : value;
}

/** A run is designed for answers within five minutes; the difference is for the answer itself. */
const DESIGNED_SECONDS = 295;

/** @returns whether the file may be fetched */
function noteLink({ hostname, search }: URL, deployment: Deployment, notes: Notes): boolean {
  const isListed = isAllowedHost(hostname, policyOf(deployment));
  const text = `Files come from ${printableHost(hostname)}`;
  notes['file-host'] = isListed ? assumed(`${text}.`) : failing(`${text}, which is not listed.`);
  const seconds = /[?&]x-(?:amz|goog)-expires=(\d{1,8})(?:&|$)/i.exec(search)?.[1];
  const life = `The address says that it is valid for ${seconds} s.`;
  notes['link-lifetime'] =
    seconds === undefined
      ? notSeen('The address does not say how long it is valid.')
      : Number(seconds) >= DESIGNED_SECONDS
        ? assumed(life)
        : tolerated(life);
  return isListed;
}
