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
import { readContent } from '../../core/file/read-content.ts';
import { type Facts, isEmptyFile } from '../../core/gate/facts.ts';
import type { AccessToken } from '../../core/oauth/access-token.ts';
import { TransferError } from '../../transfer/base/transfer-errors.ts';
import { isAllowedHost, printableHost } from '../../transfer/source/guard.ts';
import { type FileSample, sampleFile } from '../../transfer/source/sample-file.ts';

/**
 * Calls the CRM with the code of a run. It does not repeat a refused call, and makes at most one export. It keeps only
 * the form of the answers: names, types, status words, times and sizes; no value of a record, token or file address.
 */

export const pointSchema = z.strictObject({
  id: z.string(),
  point: z.string().check(z.describe('The row of docs/interface/open-points.md.')),
  verdict: z
    .enum(['as assumed', 'different', 'not checked'])
    .check(z.describe('as assumed: a run accepts the answer. different: a run fails because of the answer.')),
  what: z.string(),
  setting: z.nullable(z.string()).check(z.describe('The setting to change if a run fails; null if no change helps.')),
});
type Point = z.infer<typeof pointSchema>;

/** The result of the probe for one point. The sentence contains no value of a record, no token and no file address. */
interface Observation extends Pick<Point, 'verdict' | 'what'> {
  /** Replaces the setting of the point; `null` = no setting helps. */
  setting?: string | null;
}

const assumed = (what: string): Observation => ({ verdict: 'as assumed', what });
const notObserved = (what: string): Observation => ({ verdict: 'not checked', what });
const failing = (what: string): Observation => ({ verdict: 'different', what });

/**
 * The open points of the interface document that a probe can observe. Each point has a row in
 * docs/interface/open-points.md, and the setting to change if a run would fail.
 */
const POINTS = {
  'fields-shape': { point: '`GET /{entity}/fields` shape' },
  'token-presentation': { point: 'How the access token is presented' },
  'export-scope': { point: 'Scope of the export operations', setting: 'crm.scopes' },
  'export-id-field': { point: 'Field with the UUID in the stage 1 answer' },
  'status-record': { point: 'Record of stage 2' },
  'status-words': { point: 'Status words' },
  'file-host': { point: 'Host of the file URL', setting: 'crm.fileHosts' },
  'file-format': { point: 'Export file format', setting: 'entities.ENTITY.opaque' },
  'header-texts': { point: "Texts of a file's header", setting: 'entities.ENTITY.columns' },
} satisfies Record<string, { point: string; setting?: string }>;

/** Observations by the id of the point; a missing point was not reached. */
type Notes = Partial<Record<keyof typeof POINTS, Observation>>;

/** All points in order, each with its observation. @param entity the exported entity */
export function pointsOf(notes: Notes, entity = 'ENTITY'): Point[] {
  const all: Record<string, { point: string; setting?: string }> = POINTS;
  return Object.entries(all).map(([id, { point, setting: usual }]) => {
    const note = notes[id as keyof Notes] ?? notObserved('The probe ended before this point.');
    const { verdict, what, setting = usual?.replace('ENTITY', entity) ?? null } = note;
    return { id, point, verdict, what, setting: verdict === 'different' ? setting : null };
  });
}

/** A call to the CRM, as the report shows it. */
export const callSchema = z.strictObject({
  call: z.string().check(z.describe('Method and path, as in the interface document.')),
  status: z.nullable(z.int()).check(z.describe('null: the CRM did not answer.')),
  milliseconds: z.int(),
  mediaType: z.string(),
  shape: z.string().check(z.describe('Keys and types of the body.')),
  code: z.nullable(z.string()).check(z.describe('The code of an error.')),
});
export type Call = z.infer<typeof callSchema>;

/** One probe: how it calls the CRM, and what it has observed so far. */
export interface Probe {
  deployment: Deployment;
  token: AccessToken;
  /** The entity to export; default: the first whose fields a run can read. */
  wanted?: Entity | undefined;
  sleep: (ms: number) => Promise<void>;
  signal: AbortSignal;
  onCall: (call: Call) => void;
  calls: Call[];
  entity?: Entity;
  notes: Notes;
}

/**
 * Reads the fields of all entities, makes one export of one column, and fetches its file.
 * @param probe collects the observations, also if this function throws
 * @throws RunError as a run would, TransferError, the reason of the signal
 */
export async function makeCalls(probe: Probe): Promise<void> {
  const { deployment, token, notes } = probe;
  const crm = recordingClient(probe);
  const scopes = token.scope.split(/\s+/).filter(Boolean);
  try {
    const { entity, fields } = await readLists(crm, probe);
    probe.entity = entity;
    const column = columnOf(deployment, entity, fields);
    const time = { timeoutMs: deployment.crm.createTimeoutSeconds * 1000 };
    const request = requestOf(deployment, entity, column);
    const id = await noting(notes, createExport(crm, entity, request, time), () => 'export-id-field');
    notes['export-id-field'] = assumed('The answer has a UUID.');
    const how = scopes.includes(EXPORT_SCOPE) ? 'with' : 'without';
    notes['export-scope'] =
      scopes.length > 0
        ? assumed(`An export is accepted ${how} ${EXPORT_SCOPE}.`)
        : notObserved('The CRM did not say which scopes the grant has.');
    await waitFor(crm, probe, entity, id);
    const address = await noting(notes, requestDownload(crm, entity, id), () => 'file-host');
    const { hostname } = new URL(address);
    const text = `Files come from ${printableHost(hostname)}`;
    const isListed = isAllowedHost(hostname, policyOf(deployment));
    notes['file-host'] = isListed ? assumed(`${text}.`) : failing(`${text}, which is not listed.`);
    if (isListed) await noteFile(address, probe, { entity, fields, column });
  } catch (error) {
    if (error instanceof RunError && error.status === 403 && scopes.includes(EXPORT_SCOPE)) {
      notes['export-scope'] = failing(error.message);
    }
    throw error;
  }
}

/** Notes an answer that a run cannot read, whatever the settings. @param point selects the point by the error */
function noting<T>(notes: Notes, reading: Promise<T>, point: (error: RunError) => keyof Notes): Promise<T> {
  return reading.catch((error: unknown) => {
    if (error instanceof RunError && error.name === 'CrmContractError') {
      notes[point(error)] = { ...failing(error.message), setting: null };
    }
    throw error;
  });
}

/** The client of a run, which also records shapes. It has one token, so it repeats no call after a 401 or 403. */
function recordingClient({ deployment, token, signal, onCall, calls, notes }: Probe): CrmClient {
  const log = { info: () => undefined, error: () => undefined };
  const now = () => new Date();
  const crm = createCrmClient({ baseUrl: deployment.crm.baseUrl, getAccessToken: async () => token, log, now, signal });
  return {
    call: async (call, schema) => {
      const began = performance.now();
      // The report shows a call that was not sent like a call without an answer.
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
  error?: RunError;
}

/** The fields of the wanted entity, or of the first entity whose fields a run can read. @throws RunError */
async function readLists(crm: CrmClient, { wanted, calls, notes }: Probe) {
  const lists: List[] = [];
  for (const entity of new Set([wanted ?? 'leads', ...ENTITIES])) {
    const list: List = { entity };
    lists.push(list);
    try {
      list.fields = await readFields(crm, entity);
    } catch (error) {
      if (!(error instanceof RunError)) throw error;
      list.error = error;
    }
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
  // Without an answer, and after a 401, 429 or 503, the fields are unknown. A 403 for all entities concerns the scope.
  const others = [undefined, 401, 429, 503, ...(read.length > 0 ? [] : [403])];
  const refused = lists.filter(({ error }) => !others.includes(error?.status));
  const unread = lists.find(({ error }) => error?.name === 'CrmContractError')?.error;
  const names = refused.map(({ entity, error }) => `${entity} (${error?.status})`).join(', ');
  if (unread) notes['fields-shape'] = failing(unread.message);
  else if (refused.length > 0) notes['fields-shape'] = failing(`The CRM refuses the fields of ${names}.`);
  else if (read.length > 0) notes['fields-shape'] = assumed(`${read.length} entities answer a list with fieldName.`);
}

/**
 * The column to export: the id, because it is the least personal column, or else the first column that a run requests.
 * @throws RunError if it requests none
 */
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
async function waitFor(crm: CrmClient, { deployment, sleep, notes }: Probe, entity: Entity, id: string): Promise<void> {
  const { deadlineSeconds } = deployment.entities[entity].polling;
  const words = new Set<string>();
  let seconds = 0;
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 1.5, LONGEST_WAIT_MS)) {
    // Either the status is not a listed word, or the record cannot be read.
    const { status } = await noting(notes, readStatus(crm, entity, id), ({ part }) =>
      part === 'status word' ? 'status-words' : 'status-record',
    );
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

function policyOf({ crm, local }: Deployment) {
  return { hosts: crm.fileHosts, privateHosts: crm.privateHosts ?? [], local };
}

interface Exported {
  entity: Entity;
  fields: Field[];
  column: string;
}

const MOST_BYTES = 16 * 1024 * 1024;
const MOST_CONTENT_BYTES = 512 * 1024 * 1024;

/**
 * Fetches a file by the rules of the transfer, and reads it as a run does.
 * @throws TransferError
 */
async function noteFile(address: string, { deployment, signal, notes }: Probe, exported: Exported): Promise<void> {
  const options = { policy: policyOf(deployment), signal, mostBytes: MOST_BYTES };
  const sample = await sampleFile(address, options).catch((error: unknown) => {
    // The address, one of its redirects or an IP address of its host is not allowed.
    if (error instanceof TransferError && error.reason === 'address-rejected') {
      notes['file-host'] = { ...failing(error.message), setting: error.setting ?? null };
    }
    throw error;
  });
  try {
    noteFacts(await factsOf(sample, deployment, exported), notes);
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    // A partial file may be cut in the middle of an archive, and other errors come from the limits of the probe.
    if (!sample.whole || error.name !== 'FileRejected') return;
    // If only the header is refused, the file may still be the export.
    notes[error.part === 'header' ? 'header-texts' : 'file-format'] = failing(error.message);
    notes['file-format'] ??= notObserved('See header-texts.');
  }
}

async function factsOf(
  { head, bytes, undeclaredEnd }: FileSample,
  { entities, files }: Deployment,
  { entity, fields, column }: Exported,
): Promise<Facts> {
  const plan = entities[entity];
  const { formats } = files;
  const { labels, header, sheet, otherSheets } = plan.columns;
  const listed = { columns: [column], fields, excepted: [], labels };
  const read = async function* (from: number, to: number) {
    yield bytes.subarray(from, to);
  };
  const { facts } = await readContent(
    { size: bytes.length, read },
    {
      expected: { ...listed, formats, opaque: plan.opaque, headerless: header === 'none', sheet, otherSheets },
      what: 'The file',
      contentType: /^[a-z]+\/[a-z0-9+.-]+/i.exec(head.contentType)?.[0] ?? '',
      maxBytes: MOST_CONTENT_BYTES,
      secondsLeft: () => Number.POSITIVE_INFINITY,
      undeclaredEnd,
    },
  );
  return facts;
}

function noteFacts(facts: Facts, notes: Notes): void {
  const { format, compression, dialect, header, content } = facts;
  const packed = compression ? ` in ${compression}` : '';
  const text = dialect ? `, ${dialect.encoding ?? 'encoding not recognised'}, line breaks ${dialect.lineBreak}` : '';
  if (!isEmptyFile(facts)) notes['file-format'] = assumed(`It is ${format}${packed}${text}.`);
  if (header) notes['header-texts'] = assumed('The header has a name or label that the CRM lists.');
  else if (content?.headed === false) {
    notes['header-texts'] = assumed('It has no header, as configured in columns.header.');
  }
}
