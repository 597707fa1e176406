import * as z from 'zod/mini';
import { retryAfterSeconds } from '../../transfer/base/retry-after.ts';
import { EXPORT_SCOPE, UPDATE_SCOPE } from '../config/scopes.ts';
import { RunError, type RunErrorName } from '../errors.ts';
import { UnreadableBody, type WholeAnswer } from '../http/whole-answer.ts';
import { isRecord, jsonOrUndefined } from '../json.ts';
import { type BodyJudgement, judgeBody } from './answer-contradictions.ts';
import { type CrmCall, nameOf, type Operation } from './call.ts';
import { errorCode, isLasting, saysBusy } from './error-code.ts';
import { exportIdIn, hasList, isWithoutAddress, kindOfStatus, linkSchema, shapeOf } from './read-body.ts';

/**
 * Decides what an answer of the CRM means. Each operation has a table of conditions, and the first row that matches
 * counts. Two tables are elsewhere: `core/oauth/token-answers.ts` has the table of the token endpoint, and
 * `transfer/source/file-answers.ts` has the table of the file download, because `transfer` imports nothing from `core`.
 */

/** An answer of the CRM with its whole body. */
export interface CrmAnswer extends Omit<WholeAnswer, 'body'> {
  /** The parsed JSON of the body; `undefined` if the body is not JSON. */
  body: unknown;
  /** The body is a web page, or another HTML or XML document. */
  isPage: boolean;
  characters: number;
  /** The reason, if the body could not be read. */
  unread?: UnreadableBody | undefined;
  /** The machine-readable error code, if it is safe to show. */
  code?: string | undefined;
  /** The path of the URL that was called. */
  path: string;
}

/**
 * `done`: the call succeeded. `notTaken`: the CRM did not process the call, and it can be repeated later. `unknown`:
 * the CRM may have processed the call. `refused`: the CRM did not process the call, and would refuse it again.
 * `contradiction`: the answer does not match the interface document.
 */
export type Outcome = 'done' | 'notTaken' | 'unknown' | 'refused' | 'contradiction';

export interface Meaning {
  outcome: Outcome;
  /** The error that may end the run; `undefined` if the call is done. */
  error: RunError | undefined;
}

/** The facts about a call and its answer that the table tests. */
interface Facts {
  call: CrmCall;
  answer: CrmAnswer;
  /** The scopes of the token that was sent. */
  scope: string;
  status: number;
  isPage: boolean;
  /** The body says that the CRM is busy, or a refusal has `Retry-After`. */
  isBusy: boolean;
  /** The answer is 2xx and contains the result of the call. */
  hasResult: boolean;
  judged: BodyJudgement;
}

/** Operations, condition, outcome, error, and the end of the message after `POST /leads/exports was answered 409`. */
type Row = [
  operations: readonly Operation[],
  when: (facts: Facts) => boolean,
  outcome: Outcome,
  name: RunErrorName,
  says?: (facts: Facts) => string,
];

const is =
  (...codes: number[]) =>
  ({ status }: Facts) =>
    codes.includes(status);
/** The CRM may have processed the call. */
const isUnclear = ({ status }: Facts) => status >= 500 || status === 408 || status === 425;
const isRefusal = ({ status }: Facts) => status >= 400;
const isNoJson = ({ answer }: Facts) => answer.body === undefined;
const hasError = ({ judged }: Facts) => judged.contradiction !== undefined;
/** Whether another service sent this web page. With a status of the list, a proxy in front of the CRM may have sent it. */
const isOtherPage = ({ isPage, status }: Facts) =>
  isPage && status < 500 && ![401, 403, 408, 425, 429].includes(status);
/** Statuses of a server or proxy for an address that does not exist. */
const isUnknownAddress = is(404, 405, 410, 421);
const isUnconfirmed = ({ status, answer }: Facts) => status !== 200 || !isRecord(answer.body);
const isEmpty = ({ answer }: Facts) => answer.unread === undefined && answer.characters === 0;
const isWithoutStatus = (facts: Facts) => {
  const kind = kindOfStatus(facts.answer.body);
  return kind === 'blank' || (kind === undefined && hasError(facts));
};

/** The ends of messages; `Row` shows how they begin. */
const SAYS = {
  busy: text(': the CRM says that it is busy.'),
  mayBeForbidden: (facts) => `${described(facts)}: the CRM says that it is busy. If this lasts: ${scopesOf(facts)}`,
  locked: text(': the CRM is busy with another export, or has locked the record.'),
  redirect: text(', a redirect. Redirects are not followed, because the request has credentials.'),
  forbidden: (facts) => `${described(facts)}. ${scopesOf(facts)}`,
  notYet: (facts) => `${described(facts)}: the CRM does not provide the file of export ${facts.call.id} yet.`,
  noUrl: ({ call, answer: { body } }) =>
    ` without the URL of the file, although export ${call.id} is PROCESSED: ${body === undefined ? 'an empty body' : shapeOf(body)}.`,
  noObject: ({ answer: { unread, characters } }) =>
    ` with ${unread ? 'a body that broke off or is too long' : `a body of ${characters} characters`}, not with 200 and a JSON object: the change is not confirmed.`,
  noCustomer: (facts) => `${errorText(facts)} and no customer record.`,
  contradicts: ({ judged }) => `, but ${judged.contradiction}: the change is not confirmed.`,
  error: (facts) => `${errorText(facts)}.`,
  noId: (facts) => `${errorText(facts)} and no id of an export.`,
  incomplete: (facts) =>
    `${errorText(facts)} and the id of an export: the answer does not prove that the export is complete.`,
  noStatus: (facts) =>
    `${hasError(facts) ? `${errorText(facts)} and` : ''} without a status: ${shapeOf(facts.answer.body)}.`,
} satisfies Record<string, (facts: Facts) => string>;

const BUSY = ['notTaken', 'CrmBusy', SAYS.busy] as const;
const LOCKED = ['notTaken', 'CrmBusy', SAYS.locked] as const;
const NO_URL = ['notTaken', 'ExportNotReady', SAYS.noUrl] as const;
const EVERY: Operation[] = ['fields', 'create', 'status', 'address', 'update'];

/** The first row that matches counts. */
const ROWS: Row[] = [
  [EVERY, ({ status, isBusy }) => status === 403 && isBusy, 'notTaken', 'CrmBusy', SAYS.mayBeForbidden],
  [EVERY, ({ status }) => status >= 300 && status < 400, 'contradiction', 'CrmContractError', SAYS.redirect],
  // `fields` is the first call of a run: an answer from another service means that the configuration is wrong.
  [['fields'], (facts) => isUnknownAddress(facts) || isOtherPage(facts), 'refused', 'ConfigInvalid', elsewhereText],
  // For an update, a web page alone may be a refusal by the CRM; a web page with one of these statuses is not.
  [['update'], (facts) => facts.isPage && isUnknownAddress(facts), 'refused', 'ConfigInvalid', elsewhereText],
  [EVERY, is(401), 'refused', 'AuthRefused', text(' twice, the second time with a fresh token.')],
  [EVERY, is(403), 'refused', 'AuthRefused', SAYS.forbidden],
  [EVERY, is(429), 'notTaken', 'RateLimited', text(': too many requests.')],
  // The CRM was not reached or is busy (521, 523, 525 and 526 are statuses of Cloudflare).
  [['fields', 'create', 'status', 'address'], is(503, 521, 523, 525, 526), 'notTaken', 'CrmUnavailable'],
  [['fields', 'create', 'status'], is(409, 423), ...LOCKED],
  // A 409 to an update is not here: it is a conflict about the values of the line.
  [['update'], is(423), ...LOCKED],
  [['status', 'address'], is(404, 410), 'refused', 'ExportNotFound'],
  [['create'], isUnclear, 'unknown', 'CreateUnanswered'],
  [EVERY, isUnclear, 'unknown', 'CrmUnavailable'],
  [['address'], isRefusal, 'notTaken', 'ExportNotReady', SAYS.notYet],
  [['update'], is(404), 'refused', 'CrmRejectedRequest', text(': there is no customer with this id.')],
  [EVERY, (facts) => isRefusal(facts) && facts.isBusy, ...BUSY],
  [EVERY, isRefusal, 'refused', 'CrmRejectedRequest'],

  [['update'], isUnconfirmed, 'unknown', 'CrmContractError', SAYS.noObject],
  [['update'], ({ judged }) => judged.isRefusal, 'refused', 'CrmRejectedRequest', SAYS.noCustomer],
  [['update'], hasError, 'contradiction', 'CrmContractError', SAYS.contradicts],
  [['fields'], ({ answer }) => answer.unread?.reason === 'cut off', 'unknown', 'CrmUnavailable', unreadText],
  [['fields'], isNoJson, 'contradiction', 'CrmContractError', unreadText],
  [['create'], isNoJson, 'unknown', 'CreateUnanswered', unreadText],
  [['address'], isEmpty, ...NO_URL],
  // Answers that are not JSON are retried: the export exists, and the CRM has answered this run in JSON before.
  [['status', 'address'], isNoJson, 'notTaken', 'CrmContractError', unreadText],
  // An answer that says "busy" may list only some fields, and a run with them would lose columns.
  [['fields'], ({ isBusy }) => isBusy, ...BUSY],
  [['fields'], hasError, 'notTaken', 'CrmContractError', SAYS.error],
  // After a 2xx status the CRM may have created an export although its body reports an error.
  [['create'], ({ isBusy, hasResult }) => isBusy && !hasResult, 'unknown', 'CreateUnanswered', SAYS.busy],
  [['create'], (facts) => hasError(facts) && !facts.hasResult, 'refused', 'CrmRejectedRequest', SAYS.noId],
  [['create'], hasError, 'contradiction', 'CrmContractError', SAYS.incomplete],
  [['status'], ({ isBusy, hasResult }) => isBusy && !hasResult, ...BUSY],
  [['status'], isWithoutStatus, 'notTaken', 'CrmContractError', SAYS.noStatus],
  [['address'], (facts) => !facts.hasResult && (hasError(facts) || isWithoutAddress(facts.answer.body)), ...NO_URL],
];

/** Whether the body of a 2xx answer contains the result of the call. For an update, no content is required. */
const HAS_RESULT: Record<Operation, (body: unknown) => boolean> = {
  fields: hasList,
  create: (body) => exportIdIn(body) !== undefined,
  status: (body) => kindOfStatus(body) === 'listed',
  address: (body) => linkSchema.safeParse(body).success,
  update: () => true,
};

/** The meaning of an answer, by the first row of the table that matches. */
export function meaningOf(about: Pick<Facts, 'call' | 'answer' | 'scope'>, now: Date): Meaning {
  const facts = factsOf(about);
  const row = ROWS.find(([operations, when]) => operations.includes(about.call.operation) && when(facts));
  if (!row) return { outcome: 'done', error: undefined };
  const [, , outcome, name, says = text('.')] = row;
  const { status, ok, headers, unread: cause } = about.answer;
  const message = `${nameOf(about.call)} was answered ${status}${says(facts)}${addressText(name, about)}`;
  const isRepeated = outcome === 'notTaken' || outcome === 'unknown';
  const wanted = isRepeated ? headers.get('retry-after') : null;
  const seconds = retryAfterSeconds(wanted, headers.get('date'), now);
  // `momentary`: the run waits if this table says so, even for an error that ends a run elsewhere.
  const options = { ...(!ok && { status }), retryAfterSeconds: seconds, cause, momentary: outcome === 'notTaken' };
  return { outcome, error: new RunError(name, message, options) };
}

function factsOf(about: Pick<Facts, 'call' | 'answer' | 'scope'>): Facts {
  const { call, answer } = about;
  const { status, isPage, body, headers, code } = answer;
  const isUpdate = call.operation === 'update';
  const hasResult = answer.ok && HAS_RESULT[call.operation](body);
  // The CRM may refuse the values of an update with any status except 403, which means a missing right.
  const asked = { json: call.json, isResult: hasResult, isAboutValues: isUpdate && status !== 403 };
  const isBusy = (status >= 400 && headers.has('retry-after') && !isLasting(code ?? '')) || saysBusy(body, asked);
  const sent = isUpdate && isRecord(call.json) && { id: call.id, fields: call.json };
  const judged = judgeBody(body, { ...sent, isCompared: call.confirmation !== 'status' });
  return { ...about, status, isPage, isBusy, hasResult, judged };
}

/**
 * The parsed body of a successful answer.
 * @throws RunError `CrmContractError`, which names keys and paths but quotes no values
 */
export function parsedBody<T>(answer: CrmAnswer, call: CrmCall, schema: z.core.$ZodType<T>): T {
  const parsed = z.safeParse(schema, answer.body);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map((issue) => issue.path.join('.')).filter(Boolean);
  const problem = paths.length > 0 ? ` (wrong at ${[...new Set(paths)].slice(0, 10).join(', ')})` : '';
  const shape = `in an unexpected shape${problem}: ${shapeOf(answer.body)}.`;
  const address = addressText('CrmContractError', { call, answer });
  throw new RunError('CrmContractError', `${nameOf(call)} was answered ${answer.status} ${shape}${address}`);
}

/** Reads the body of an answer in any format. @param path of the URL that was called */
export function readAnswer(
  { status: code, ok, headers, body: text }: WholeAnswer,
  sent: { call: CrmCall; accessToken: string },
  path: string,
): CrmAnswer {
  const [read, unread] = text instanceof UnreadableBody ? ['', text] : [text, undefined];
  const body = jsonOrUndefined(read);
  // Some servers send JSON with the media type text/html.
  const isPage = body === undefined && (/html/i.test(headers.get('content-type') ?? '') || /^\s*</.test(read));
  const shown = errorCode(body, sent, { isGood: ok });
  return { status: code, ok, headers, body, isPage, characters: read.length, unread, code: shown, path };
}

/** The media type of an answer, for messages. */
export function contentType({ headers }: Pick<CrmAnswer, 'headers'>): string {
  const type = headers.get('content-type')?.match(/^[a-z]{1,127}\/[a-z+.-]{1,127}(?![a-z+.-])/i)?.[0];
  return type ? ` (${type})` : '';
}

/** Makes the end of a message: the media type and the error code of the answer, then this text. */
function text(end: string): (facts: Facts) => string {
  return (facts) => `${described(facts)}${end}`;
}

/** Returns ` (application/json), code "unknown_field"`. The body may contain records, so the rest is not shown. */
function described({ answer }: Facts): string {
  return `${contentType(answer)}${answer.code === undefined ? '' : `, code "${answer.code}"`}`;
}

/** The end of the message about a 2xx answer that contains an error. */
function errorText({ answer: { code } }: Facts): string {
  return ` with an error${code === undefined ? '' : ` (code "${code}")`}`;
}

function unreadText({ answer }: Facts): string {
  // The message of `UnreadableBody` begins with the status. The caller writes the status itself.
  if (answer.unread) return `${answer.unread.message.replace(/^\d+/, '')}.`;
  return `${contentType(answer)}, but not in JSON (${answer.characters} characters).`;
}

function elsewhereText(facts: Facts): string {
  const what = facts.isPage ? ', a web page.' : ': the server does not offer this call.';
  return `${described(facts)}${what}`;
}

/** Names the path that was called, if another service may have answered: this is likely only at a run's first call. */
function addressText(name: RunErrorName, { call, answer }: Pick<Facts, 'call' | 'answer'>): string {
  const isOfFirst =
    name === 'CrmContractError' || name === 'CrmRejectedRequest' || (name === 'AuthRefused' && !answer.code);
  if (name !== 'ConfigInvalid' && !(isOfFirst && call.operation === 'fields')) return '';
  return ` The called path is ${answer.path}: check crm.baseUrl.`;
}

function scopesOf({ call, scope, isPage }: Facts): string {
  const [what, needed] = call.operation === 'update' ? ['updates', UPDATE_SCOPE] : ['exports', EXPORT_SCOPE];
  const has = `The token has the scopes "${scope}"`;
  if (isPage) return `${has}. The answer is a web page: a firewall in front of the CRM may have refused the call.`;
  if (scope.split(/\s+/).includes(needed))
    return `${has}, including "${needed}", which ${what} need. So the person who authorized lacks a right in the CRM.`;
  return `${has}; ${what} need "${needed}", or the scope that crm.scopes has in its place.`;
}
