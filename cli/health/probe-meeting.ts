import { chooseColumns } from '../../core/columns/columns.ts';
import { isHeaderless, labelsOf, sheetsOf } from '../../core/config/chosen-columns.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { type CrmAnswer, contentType, meaningOf, parsedBody } from '../../core/crm/answers.ts';
import { nameOf } from '../../core/crm/call.ts';
import { type CrmClient, createCrmClient } from '../../core/crm/crm-client.ts';
import { createExport, readStatus, requestDownload } from '../../core/crm/exports.ts';
import { type Field, readFields } from '../../core/crm/fields.ts';
import { shapeOf } from '../../core/crm/read-body.ts';
import { RunError } from '../../core/errors.ts';
import { planFor } from '../../core/export/plan.ts';
import { buildRequest } from '../../core/export/request.ts';
import { readContent } from '../../core/file/read-content.ts';
import type { Facts } from '../../core/gate/facts.ts';
import type { AccessToken } from '../../core/oauth/access-token.ts';
import { TransferError } from '../../transfer/base/transfer-errors.ts';
import { isAllowedHost, printableHost } from '../../transfer/source/guard.ts';
import { type Looked, lookAtFile } from '../../transfer/source/look.ts';

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

/** Observations of the probe; a missing part was not reached. */
export interface Seen {
  /** Scopes of the token; '' = the CRM named none. */
  scope: string;
  calls: Call[];
  /** The authentication scheme that a 401 answer asks for. */
  scheme?: string;
  lists: { entity: Entity; at: string | null; error?: RunError }[];
  entity?: Entity;
  /** Place of the export id in the answer: `id`, `data.id`. */
  idAt?: string;
  statuses: { at: string; word: string; seconds: number }[];
  /** `rejected`: why the address, one of its redirects or an IP address of its host is not allowed. */
  link?: { host: string; isListed: boolean; lifeSeconds: number | null; rejected?: string };
  file?: SeenFile;
  /** The error with which a run would have ended at the last call. */
  failed?: RunError;
}

export interface Meeting {
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

const LIST_KEYS = ['data', 'fields', 'items'];
const FIRST_WAIT_MS = 2000;
const LONGEST_WAIT_MS = 15_000;

/**
 * Reads the fields of all entities, makes one export of one column, and fetches its file.
 * @param seen collects the observations, also if this function throws
 * @throws RunError as a run would, TransferError, RetryableError, the reason of the signal
 */
export async function meet(meeting: Meeting, seen: Seen): Promise<void> {
  const { deployment } = meeting;
  const crm = keepingClient(meeting, seen);
  try {
    const { entity, fields } = await chosenList(crm, meeting, seen);
    seen.entity = entity;
    const column = columnOf(deployment, entity, fields);
    const time = { timeoutMs: deployment.crm.createTimeoutSeconds * 1000 };
    const id = await createExport(crm, entity, requestOf(deployment, entity, column), time);
    seen.idAt = placeOf(crm.last(), ['id', 'uuid', 'exportId'], id);
    await waitFor(crm, meeting, seen, { entity, id });
    const { href, hostname, search } = new URL(await requestDownload(crm, entity, id));
    const isListed = isAllowedHost(hostname, policyOf(deployment));
    const seconds = /[?&]x-(?:amz|goog)-expires=(\d{1,8})(?:&|$)/i.exec(search)?.[1];
    seen.link = {
      host: printableHost(hostname),
      isListed,
      lifeSeconds: seconds === undefined ? null : Number(seconds),
    };
    if (isListed) seen.file = await lookAt(href, meeting, { entity, fields, column });
  } catch (error) {
    if (error instanceof RunError) seen.failed = error;
    if (error instanceof TransferError && error.reason === 'address-rejected' && seen.link)
      seen.link.rejected = error.message;
    throw error;
  }
}

/** `last`: returns the body of the last answer, to find the places of values in it. */
interface KeepingClient extends CrmClient {
  last: () => unknown;
}

/** The client of a run, which also records shapes. It has one token, so it repeats no call after a 401 or 403. */
function keepingClient({ deployment, token, elapsed, signal, onCall }: Meeting, seen: Seen): KeepingClient {
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
    const shape = body === undefined ? `no JSON (${exchange.response?.characters ?? 0} characters)` : shapeOf(body);
    const milliseconds = Math.round(elapsed() - began);
    const kept = { call: nameOf(call), milliseconds, shape, ...statusOf(exchange.response) };
    seen.calls.push(kept);
    onCall(kept);
    if (!exchange.response) throw exchange.unanswered;
    const { response } = exchange;
    if (response.status === 401) {
      seen.scheme = /^[a-z]{1,20}(?= |$)/i.exec(response.headers.get('www-authenticate') ?? '')?.[0] ?? '';
      throw new RunError('AuthRefused', `${nameOf(call)} was answered 401: the CRM refuses the stored token.`);
    }
    const { error } = meaningOf({ call, answer: response, scope: token.scope }, now());
    if (error) throw error;
    return parsedBody(response, call, schema);
  };
  return { call, last: () => body };
}

function statusOf(answer: CrmAnswer | undefined): Pick<Call, 'status' | 'mediaType' | 'code'> {
  if (!answer) return { status: null, mediaType: '', code: null };
  return { status: answer.status, mediaType: contentType(answer).replace(/[() ]/g, ''), code: answer.code ?? null };
}

/** The fields of the wanted entity, or of the first entity whose fields a run can read. @throws RunError */
async function chosenList(crm: KeepingClient, { entity: wanted }: Meeting, { calls, lists }: Seen) {
  let chosen: { entity: Entity; fields: Field[] } | undefined;
  for (const entity of new Set([wanted ?? 'leads', ...ENTITIES])) {
    const fields = await readFields(crm, entity).catch((error: unknown) => {
      if (error instanceof RunError) return error;
      throw error;
    });
    const isRefused = fields instanceof RunError;
    lists.push(isRefused ? { entity, at: null, error: fields } : { entity, at: placeOf(crm.last(), LIST_KEYS) });
    // The other calls would end with the same error.
    const isForAll = isRefused && (fields.transient || (calls.length === 1 && calls[0]?.status === 401));
    if (isRefused && (isForAll || entity === wanted)) throw fields;
    if (!isRefused) chosen ??= { entity, fields };
  }
  if (chosen) return chosen;
  throw lists[0]?.error ?? new RunError('CrmContractError', 'The CRM lists no fields.');
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

/** Reads the status until the export is PROCESSED. @throws RunError */
async function waitFor(
  crm: KeepingClient,
  { deployment, elapsed, sleep }: Meeting,
  { statuses }: Seen,
  { entity, id }: { entity: Entity; id: string },
): Promise<void> {
  const { deadlineSeconds } = deployment.entities[entity].polling;
  const began = elapsed();
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 1.5, LONGEST_WAIT_MS)) {
    const { status } = await readStatus(crm, entity, id);
    const seconds = Math.round((elapsed() - began) / 100) / 10;
    statuses.push({ at: placeOf(crm.last(), ['status'], status), word: status, seconds });
    if (status === 'PROCESSED') return;
    if (status === 'FAILED') throw new RunError('ExportFailed', 'The CRM reports the export as FAILED.');
    if (seconds + wait / 1000 > deadlineSeconds)
      throw new RunError('ExportDeadlineExceeded', `The export is ${status} after ${seconds} s.`);
    await sleep(wait);
  }
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

/** The result of reading a file as a run would. */
export interface SeenFile {
  facts: Facts | null;
  /** Why a run would refuse the file. */
  refused: string | null;
}

interface Requested {
  entity: Entity;
  fields: readonly Field[];
  column: string;
}

/** Most bytes of a file that the probe fetches. */
const MOST_BYTES = 16 * 1024 * 1024;
const MOST_CONTENT_BYTES = 512 * 1024 * 1024;

/** The hosts from which files may be fetched. */
function policyOf({ crm, local }: Deployment) {
  return { hosts: crm.fileHosts, privateHosts: crm.privateHosts ?? [], local };
}

/**
 * Fetches a file by the rules of the transfer, and reads it as a run does.
 * @throws TransferError, RetryableError
 */
async function lookAt(
  address: string,
  { deployment, signal }: { deployment: Deployment; signal: AbortSignal },
  requested: Requested,
): Promise<SeenFile> {
  const looked = await lookAtFile(address, { policy: policyOf(deployment), signal, mostBytes: MOST_BYTES });
  try {
    return { facts: await factsOf(looked, deployment, requested), refused: null };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    // A partial file may be cut in the middle of an archive, and other errors come from the limits of the probe.
    return { facts: null, refused: looked.whole && error.name === 'FileRejected' ? error.message : null };
  }
}

async function factsOf(
  { head, bytes, undeclaredEnd }: Looked,
  { entities, files }: Deployment,
  { entity, fields, column }: Requested,
): Promise<Facts> {
  const plan = entities[entity];
  const listed = { columns: [column], fields, excepted: [], labels: labelsOf(plan) };
  const read = async function* (from: number, to: number) {
    yield bytes.subarray(from, to);
  };
  const { facts } = await readContent(
    { size: bytes.length, read },
    {
      expected: {
        ...listed,
        formats: files.formats,
        opaque: plan.opaque,
        headerless: isHeaderless(plan),
        ...sheetsOf(plan),
      },
      what: 'The file',
      contentType: /^[a-z]+\/[a-z0-9+.-]+/i.exec(head.contentType)?.[0] ?? '',
      maxBytes: MOST_CONTENT_BYTES,
      secondsLeft: () => Number.POSITIVE_INFINITY,
      undeclaredEnd,
    },
  );
  return facts;
}
