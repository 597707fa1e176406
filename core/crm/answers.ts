import * as z from 'zod/mini';
import { retryAfterSeconds } from '../../transfer/base/retry.ts';
import { EXPORT_SCOPE, UPDATE_SCOPE } from '../config/scopes.ts';
import { RunError, type RunErrorName } from '../errors.ts';
import { UnreadableBody, type WholeAnswer } from '../http/whole-answer.ts';
import { isRecord, jsonOrUndefined } from '../json.ts';
import { type BodyJudgement, judgeBody } from './answer-contradictions.ts';
import { type CrmCall, nameOf, type Operation } from './call.ts';
import { busyReason, errorCode } from './error-code.ts';
import {
  exportIdIn,
  hasList,
  hasListedStatus,
  hasNoStatusYet,
  hasStatus,
  isWithoutAddress,
  linkSchema,
  shapeOf,
} from './read-body.ts';

/**
 * Decides what an answer of the CRM means: each operation has a table of conditions, and the first match counts. The
 * tables of the token endpoint are in `core/oauth/token-answers.ts`, those of the GET of the file in
 * `transfer/source/file-answers.ts`, because the transfer engine imports nothing from `core`.
 */

/** An answer of the interface, with its whole body read. */
export interface CrmAnswer extends Omit<WholeAnswer, 'body'> {
  /** The value of the JSON in its body; `undefined` if the body holds none. */
  body: unknown;
  /** The body is a web page, or another document in HTML or XML. */
  isPage: boolean;
  /** Number of characters in the body. */
  characters: number;
  /** Why the body could not be read. */
  unread?: UnreadableBody | undefined;
  /** The machine-readable error code, if it may be shown. */
  code?: string | undefined;
  /** The path of the address that was called. */
  path: string;
}

/**
 * `done`: the body counts. `notTaken`: not processed, can be repeated later. `unknown`: perhaps processed. `refused`:
 * not processed, and a repetition would be refused too. `contradiction`: the answer does not match the interface
 * document.
 */
export type Outcome = 'done' | 'notTaken' | 'unknown' | 'refused' | 'contradiction';

export interface Meaning {
  outcome: Outcome;
  /** The error that may end the run; `undefined` if the call is done. */
  error: RunError | undefined;
}

/** The data for the message about an answer. */
interface About {
  call: CrmCall;
  answer: CrmAnswer;
  /** Scopes of the token that was sent. */
  scope: string;
}

/** The condition, the outcome, the error, and the end of the message `POST /leads/exports was answered 409…`. */
type Row = [
  when: (about: About) => boolean,
  outcome: Outcome,
  name: RunErrorName | ((about: About) => RunErrorName),
  says?: (about: About) => string,
];

const status =
  (...codes: number[]) =>
  ({ answer }: About) =>
    codes.includes(answer.status);
const isRedirect = ({ answer }: About) => answer.status >= 300 && answer.status < 400;
/**
 * The server was not reached or is busy (521, 523, 525 and 526 are Cloudflare's). With any other 5xx, 408 or 425 the
 * call may have been processed.
 */
const isBusyServer = status(503, 521, 523, 525, 526);
/** The CRM is processing another export of the client, or has locked the record. */
const isBusyRecord = status(409, 423);
const isUnclear = ({ answer: { status: code } }: About) => code >= 500 || code === 408 || code === 425;
const isRefusal = ({ answer }: About) => answer.status >= 400;
const isCut = ({ answer }: About) => answer.unread?.reason === 'cut off';
const isTooLarge = ({ answer }: About) => answer.unread?.reason === 'too large';
const isNoJson = ({ answer }: About) => answer.body === undefined;
/** An empty body, such as that of a 202 or 204. */
const isNothing = ({ answer }: About) => answer.unread === undefined && answer.characters === 0;
const hasAddress = ({ answer }: About) => linkSchema.safeParse(answer.body).success;
const hasError = ({ answer }: About) => answer.ok && judgeBody(answer.body).contradiction !== undefined;
const hasNoId = ({ answer }: About) => exportIdIn(answer.body) === undefined;
/** A web page that has a status of its own service, and not of a proxy. */
const isOtherPage = ({ answer: { isPage, status: code } }: About) =>
  isPage && code < 500 && ![401, 403, 408, 425, 429].includes(code);
/** The statuses of a server or proxy that does not know the address. */
const isUnknownAddress = status(404, 405, 410, 421);
/** A refusal by a web page may come from another service, or from a firewall. */
const isPage401 = (about: About) => about.answer.isPage && status(401)(about);
const isPage403 = (about: About) => about.answer.isPage && status(403)(about);

/** Whether a good answer may be what the call asks for. */
const mayBeResult = ({ call, answer: { ok, body } }: About) =>
  ok && (call.operation === 'update' || exportIdIn(body) !== undefined || hasListedStatus(body) || hasList(body));
/** Any refusal of an update but a 403, which is about a right. */
const mayBeAboutValues = ({ call, answer }: About) => call.operation === 'update' && answer.status !== 403;
const busyName = (about: About) =>
  busyReason(about.answer.body, {
    json: about.call.json,
    isResult: mayBeResult(about),
    isAboutValues: mayBeAboutValues(about),
  });
const saysBusy = (about: About) => busyName(about) !== undefined;
const BUSY = ['notTaken', (about: About) => busyName(about) ?? 'CrmBusy', busyText] as const;
/** A refusal whose code is about the CRM, and not about the call. */
const BUSY_REFUSAL: Row = [(about) => isRefusal(about) && saysBusy(about), ...BUSY];

/** Rows that mean the same for several operations. */
const COMMON: Row[] = [
  [(about) => status(403)(about) && saysBusy(about), ...BUSY],
  [isRedirect, 'contradiction', 'CrmContractError', redirectText],
  [status(401), 'refused', 'AuthRefused', (about) => `${described(about)} twice, the second time with a fresh token.`],
  [status(403), 'refused', 'AuthRefused', (about) => `${described(about)}. ${scopesOf(about)}`],
  [status(429), 'notTaken', 'RateLimited', (about) => `${described(about)}: too many requests.`],
];
const SERVER_BUSY: Row = [isBusyServer, 'notTaken', 'CrmUnavailable'];
const RECORD_BUSY: Row = [
  isBusyRecord,
  'notTaken',
  'CrmBusy',
  (about) => `${described(about)}: the CRM is busy with another export, or has locked this one.`,
];
const withoutUrl = ({ call }: About, what: string) =>
  ` without the URL of the file, although export ${call.id} is PROCESSED: ${what}.`;
const UNCLEAR: Row = [isUnclear, 'unknown', 'CrmUnavailable'];
const NO_EXPORT: Row = [status(404, 410), 'refused', 'ExportNotFound'];
const REFUSED: Row[] = [BUSY_REFUSAL, [isRefusal, 'refused', 'CrmRejectedRequest']];
/** Unreadable answers are retried: the run has its export, and this CRM has answered in JSON before. */
const UNREADABLE_FOR_NOW: Row[] = [
  [isTooLarge, 'contradiction', 'CrmContractError', unreadText],
  [isNoJson, 'notTaken', 'CrmContractError', unreadText],
];

const ANSWERS: Record<Operation, readonly Row[]> = {
  // The first call of a run. An answer from another service is a wrong configuration.
  fields: [
    [isRedirect, 'contradiction', 'CrmContractError', (about) => `${redirectText(about)} ${addressText(about.answer)}`],
    [isUnknownAddress, 'refused', 'ConfigInvalid', elsewhereText],
    [isOtherPage, 'refused', 'ConfigInvalid', elsewhereText],
    [isPage401, 'refused', 'AuthRefused', elsewhereText],
    [isPage403, 'refused', 'AuthRefused', (about) => `${elsewhereText(about)} ${scopesOf(about)}`],
    ...COMMON,
    SERVER_BUSY,
    RECORD_BUSY,
    UNCLEAR,
    BUSY_REFUSAL,
    [isRefusal, 'refused', 'CrmRejectedRequest', (about) => `${described(about)}. ${addressText(about.answer)}`],
    [isCut, 'unknown', 'CrmUnavailable', unreadText],
    [isNoJson, 'contradiction', 'CrmContractError', (about) => `${unreadText(about)} ${addressText(about.answer)}`],
    [(about) => saysBusy(about) && (hasError(about) || !mayBeResult(about)), ...BUSY],
    // Perhaps a part of the fields: a run with them would leave out columns.
    [hasError, 'notTaken', 'CrmContractError', (about) => `${errorText(about)}. ${addressText(about.answer)}`],
  ],
  create: [
    ...COMMON,
    SERVER_BUSY,
    RECORD_BUSY,
    [isUnclear, 'unknown', 'CreateUnanswered'],
    ...REFUSED,
    [isNoJson, 'unknown', 'CreateUnanswered', unreadText],
    // With a 2xx, the CRM may have made an export all the same.
    [(about) => saysBusy(about) && hasNoId(about), 'unknown', 'CreateUnanswered', busyText],
    [
      (about) => hasError(about) && hasNoId(about),
      'refused',
      'CrmRejectedRequest',
      (about) => `${errorText(about)} and without the id of an export.`,
    ],
    [
      hasError,
      'contradiction',
      'CrmContractError',
      (about) => `${errorText(about)} and the id of an export: the answer does not prove that the export is complete.`,
    ],
  ],
  status: [
    ...COMMON,
    SERVER_BUSY,
    RECORD_BUSY,
    NO_EXPORT,
    UNCLEAR,
    ...REFUSED,
    ...UNREADABLE_FOR_NOW,
    [(about) => saysBusy(about) && !hasListedStatus(about.answer.body), ...BUSY],
    [
      (about) => hasError(about) && !hasStatus(about.answer.body),
      'notTaken',
      'CrmContractError',
      (about) => `${errorText(about)} and without a status.`,
    ],
    [
      (about) => hasNoStatusYet(about.answer.body),
      'notTaken',
      'CrmContractError',
      ({ answer }) => ` without a status: ${shapeOf(answer.body)}.`,
    ],
  ],
  address: [
    ...COMMON,
    SERVER_BUSY,
    NO_EXPORT,
    UNCLEAR,
    [
      isRefusal,
      'notTaken',
      'ExportNotReady',
      (about) => `${described(about)}: the CRM does not provide the file of export ${about.call.id} yet.`,
    ],
    [isNothing, 'notTaken', 'ExportNotReady', (about) => withoutUrl(about, 'an empty body')],
    ...UNREADABLE_FOR_NOW,
    [
      (about) => !hasAddress(about) && (isWithoutAddress(about.answer.body) || hasError(about)),
      'notTaken',
      'ExportNotReady',
      (about) => withoutUrl(about, shapeOf(about.answer.body)),
    ],
  ],
  update: [
    ...COMMON,
    UNCLEAR,
    // The CRM may refuse a line with a page of its own, but not with one for an unknown address.
    [(about) => about.answer.isPage && isUnknownAddress(about), 'refused', 'ConfigInvalid', elsewhereText],
    [status(404), 'refused', 'CrmRejectedRequest', (about) => `${described(about)}. There is no such customer.`],
    // A conflict (409) is about the values of the line; a lock passes.
    [status(423), 'notTaken', 'CrmBusy', (about) => `${described(about)}: the CRM has locked the customer.`],
    ...REFUSED,
    [
      (about) => about.answer.status !== 200 || !isRecord(about.answer.body),
      'unknown',
      'CrmContractError',
      ({ answer }) => ` with ${bodyText(answer)}, not 200 with a JSON object: the change is not confirmed.`,
    ],
    [
      (about) => judgeUpdateBody(about).isRefusal,
      'refused',
      'CrmRejectedRequest',
      (about) => `${errorText(about)} and without a customer.`,
    ],
    [
      (about) => judgeUpdateBody(about).contradiction !== undefined,
      'contradiction',
      'CrmContractError',
      (about) => `, but ${judgeUpdateBody(about).contradiction}: the change is not confirmed.`,
    ],
  ],
};

/** The meaning of an answer: the first matching row in the table of its operation. */
export function meaningOf(about: About, now: Date): Meaning {
  const row = ANSWERS[about.call.operation].find(([when]) => when(about));
  if (!row) return { outcome: 'done', error: undefined };
  const [, outcome, name, says = (which: About) => `${described(which)}.`] = row;
  const { status: code, ok, headers, unread: cause } = about.answer;
  const message = `${nameOf(about.call)} was answered ${code}${says(about)}`;
  const isRepeated = outcome === 'notTaken' || outcome === 'unknown';
  const wanted = isRepeated ? headers.get('retry-after') : null;
  const seconds = retryAfterSeconds(wanted, headers.get('date'), now);
  const options = { ...(!ok && { status: code }), retryAfterSeconds: seconds, cause };
  // The table decides whether the run waits, even if other errors of that name are final.
  const ofRun = typeof name === 'string' ? name : name(about);
  return { outcome, error: new RunError(ofRun, message, { ...options, momentary: outcome === 'notTaken' }) };
}

/** The body of a call that is done. @throws RunError `CrmContractError`, which names keys and paths, no values */
export function parsedBody<T>(answer: CrmAnswer, call: CrmCall, schema: z.core.$ZodType<T>): T {
  const parsed = z.safeParse(schema, answer.body);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map((issue) => issue.path.join('.')).filter(Boolean);
  const problem = paths.length > 0 ? ` (wrong at ${[...new Set(paths)].slice(0, 10).join(', ')})` : '';
  const where = `${nameOf(call)} was answered ${answer.status}`;
  const address = call.operation === 'fields' ? ` ${addressText(answer)}` : '';
  throw new RunError(
    'CrmContractError',
    `${where} in an unexpected shape${problem}: ${shapeOf(answer.body)}.${address}`,
  );
}

/** Reads the body of an answer in any format. @param path of the address that was called */
export function readAnswer(
  { status: code, ok, headers, body: text }: WholeAnswer,
  sent: { call: CrmCall; accessToken: string },
  path: string,
): CrmAnswer {
  const [read, unread] = text instanceof UnreadableBody ? ['', text] : [text, undefined];
  const body = jsonOrUndefined(read);
  // Some servers send JSON as text/html.
  const isPage = body === undefined && (/html/i.test(headers.get('content-type') ?? '') || /^\s*</.test(read));
  const shown = errorCode(body, sent, { isGood: ok });
  return { status: code, ok, headers, body, isPage, characters: read.length, unread, code: shown, path };
}

/** The media type of an answer, for messages. */
export function contentType({ headers }: Pick<CrmAnswer, 'headers'>): string {
  const type = headers.get('content-type')?.match(/^[a-z]{1,127}\/[a-z+.-]{1,127}(?![a-z+.-])/i)?.[0];
  return type ? ` (${type})` : '';
}

/** Returns ` (application/json), code "unknown_field"`. The rest of the body may hold records and is not shown. */
function described({ answer }: About): string {
  return `${contentType(answer)}${answer.code === undefined ? '' : `, code "${answer.code}"`}`;
}

/** The end of the message about a good answer that holds an error. */
function errorText({ answer: { code } }: About): string {
  return ` with an error${code === undefined ? '' : ` (code "${code}")`}`;
}

function busyText(about: About): string {
  return `${described(about)}: its body says that the CRM is busy.`;
}

function redirectText(about: About): string {
  return `${described(about)}, a redirect. Redirects are not followed, because the request has credentials.`;
}

function unreadText({ answer }: About): string {
  // The message begins with the status, which is removed here.
  if (answer.unread) return `${answer.unread.message.replace(/^\d+/, '')}.`;
  return `${contentType(answer)}, but not in JSON (${answer.characters} characters).`;
}

function elsewhereText(about: About): string {
  const what = about.answer.isPage ? ', a web page' : ', as by a server that does not know the address';
  return `${described(about)}${what}. ${addressText(about.answer)}`;
}

function addressText({ path }: CrmAnswer): string {
  return `The path that was called is ${path}: check crm.baseUrl, which it starts from.`;
}

function scopesOf({ call, scope }: About): string {
  const [what, needed] = call.operation === 'update' ? ['updates', UPDATE_SCOPE] : ['exports', EXPORT_SCOPE];
  const has = `The token has the scopes "${scope}"`;
  if (scope.split(/\s+/).includes(needed))
    return `${has}, with "${needed}", which ${what} need: the person who authorized lacks a right in the CRM.`;
  return `${has}; ${what} need "${needed}" or what crm.scopes names for it.`;
}

function bodyText({ unread, characters }: CrmAnswer): string {
  return unread ? 'a body that broke off or is too long' : `${characters} characters`;
}

const updateSchema = z.record(z.string(), z.unknown());

/** Whether the answer to an update confirms the change. `updates.confirmation: "status"` compares no values. */
function judgeUpdateBody({ call, answer }: About): BodyJudgement {
  if (call.confirmation === 'status') return judgeBody(answer.body);
  const fields = z.safeParse(updateSchema, call.json).data ?? {};
  return judgeBody(answer.body, { id: call.id, fields });
}
