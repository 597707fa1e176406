import { folded } from '../folded.ts';
import { entriesIn, isRecord, ownValue } from '../json.ts';
import { type CrmCall, requestOf } from './call.ts';

interface Sent {
  call: CrmCall;
  accessToken: string;
}

/** Matches keys under which services return an error code. The value is shown only if it is a plain token (`TOKEN`). */
const CODE_KEY = /^(?:error[_-]?)?code$/i;

/** Matches a plain token. More than four digits do not match: they may be a person's number, a key or an id. */
const TOKEN = /^(?!(?:\D*\d){5})[a-z][a-z\d_.-]{0,47}$/i;

/** Values of `error` that RFC 6749 lists, sections 4.1.2.1 and 5.2. */
export const RFC_6749_WORDS = [
  'access_denied',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
];

/**
 * Further values of `error` that are shown, beside those that say that the CRM is busy: those of RFC 6750, section 3.1,
 * and common codes of other services. Others may be customer data.
 */
const WORDS = new Set([
  ...RFC_6749_WORDS,
  ...['bad_request', 'conflict', 'export_failed', 'export_limit', 'forbidden', 'insufficient_scope', 'internal_error'],
  ...['invalid_token', 'locked', 'not_found', 'not_processed', 'unauthorized', 'unknown_column', 'unknown_field'],
  ...['unknown_filter', 'validation_error', 'validation_failed'],
]);

/** Matches the letters of codes of refusals that no wait changes. */
const LASTING =
  /^(?:badrequest|notfound)$|denied|forbidden|invalid|permission|privilege|scope|unauthori[sz]ed|unknown(?!error)|unprocessable|unsupported|validation/;
/** Whether the CRM would refuse the call again. Some servers send `Retry-After` with such a code, too. */
export const isLasting = (code: string) => LASTING.test(lettersOf(code));

/**
 * The machine-readable error code in the body of an answer, such as `unknown_field`; `undefined` if the body has no
 * code that may be shown. The body may contain values of records. So only two kinds of text are shown: a plain token
 * under a key for codes, and a listed word in `error` or `errors[0]`. Parts of the request are never shown: the access
 * token, its texts and its path.
 * @param isGood the status is 2xx: the body may be a record, so only its `error` and `errors[0]` are searched
 */
export function errorCode(body: unknown, sent: Sent, { isGood }: { isGood: boolean }): string | undefined {
  const places = placesIn(body, isGood);
  const codes = [...textsIn(places, CODE_KEY).filter((text) => TOKEN.test(text)), ...places.filter(isListed)];
  return codes.find((code) => !wasSent(code, sent));
}

/**
 * The places of a body that may describe an error: `error`, the body itself or its first element, and `errors[0]`.
 * @param isResult the body itself may be a record or a list, so it is left out
 */
function placesIn(body: unknown, isResult: boolean): unknown[] {
  const answer = firstIn(body);
  const [error] = valuesIn(answer, /^error$/i).map(firstIn);
  const errors = [answer, error].map((place) => firstIn(valuesIn(place, /^errors$/i)[0]));
  return [error, ...(isResult ? [] : [answer]), ...errors];
}

function textsIn(places: unknown[], key: RegExp): string[] {
  return places.flatMap((place) => valuesIn(place, key)).filter(isText);
}

/** The values of an object under matching keys. Services write a key as `error_code`, `errorCode` or `ErrorCode`. */
function valuesIn(value: unknown, key: RegExp): unknown[] {
  const names = isRecord(value) ? Object.keys(value).filter((name) => key.test(name)) : [];
  return names.map((name) => ownValue(value, name));
}

/** Matches keys under which services return the reason of an error. */
const REASON_KEY = /^(?:code|error(?:[_-]?(?:code|type))?|message|type|title|reason|status|detail)$/i;

/** Matches reasons that mean that the service got too many requests, in any sentence; letters only. */
const RATE = /ratelimit|toomany(?:concurrent|active|running|parallel)?requests/;
/** All reasons that mean this. */
const LIMITED = `${RATE.source}|requestlimit|(?:request)?throttl(?:ed|ing)|resourceexhausted|slowdown`;
/** Reasons that mean that the service cannot answer now, or that another request is still running; letters only. */
const BUSY = [
  LIMITED,
  'maintenance|unavailable|overloaded|busy|retrylater|tryagain|(?:export|file)(?:is)?not(?:yet)?(?:ready|processed)',
  '(?:export|job)?queue(?:is)?full',
  '(?:export|job|operation|request|(?:token)?refresh)(?:is|already|currently|still)*(?:active|running|inprogress|underway)',
  'toomany(?:concurrent|active|running|parallel)?(?:export|job)s|concurren(?:t|cy)(?:export|job|request|limit)',
].join('|');
/** Words that may stand beside a reason. Any other word may be a value of a record, or name what is limited. */
const FILLERS =
  'an?|the|there|already|previous|max(?:imum)?|(?:number)?of|other|is|was|in|under|api|user|crm|server|service|system|resource|temporarily|please|later|soon|shortly|s|ed|error|exception|exceeded|reached|limit|mode';
/** Matches a text that contains one of `reasons`, and otherwise only reasons and fillers. */
const textWith = (reasons: string) => new RegExp(`^(?=.*(?:${reasons}))(?:${BUSY}|${FILLERS})+$`);
const BUSY_TEXT = textWith(BUSY);
const LIMITED_TEXT = textWith(LIMITED);

/**
 * Whether a body says that the CRM is too busy for the call, in any spelling: `rate_limit_exceeded`,
 * `RateLimitExceeded`, `Please try again later.` A value of the request is not a reason, because the CRM may repeat it.
 * @param isResult the body may be a record or a list, so only its `error` and `errors` are read
 * @param isAboutValues the CRM may refuse values of the request. A message such as `Unavailable` may be about a value,
 *   so `BUSY` texts count only under the keys for codes. `Too many requests` counts anywhere.
 */
export function saysBusy(
  body: unknown,
  {
    json,
    isResult = false,
    isAboutValues = false,
  }: { json?: unknown; isResult?: boolean; isAboutValues?: boolean } = {},
): boolean {
  const sent = textsSent(json);
  const isSaid = (pattern: RegExp, texts: string[]) =>
    texts.some((text) => !sent.has(folded(text)) && pattern.test(lettersOf(text)));
  const places = placesIn(body, isResult);
  const codes = textsIn(places, CODE_KEY);
  const reasons = [...places.filter(isText), ...textsIn(places, REASON_KEY)];
  if (isAboutValues) return isSaid(BUSY_TEXT, codes) || isSaid(LIMITED_TEXT, reasons);
  const isOnRate = (text: string) => RATE.test(lettersOf(text)) && !isLasting(text);
  // A sentence on the rate may have any other words, but not if it may repeat the name of a column.
  return isSaid(BUSY_TEXT, reasons) || (reasons.some(isOnRate) && ![...sent].some(isOnRate));
}

/** Services write the same code with `_`, `-`, blanks or capitals. */
export function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z]/g, '');
}

/** The texts of a request, folded, because the CRM may repeat them in another spelling. */
function textsSent(json: unknown): ReadonlySet<string> {
  const texts = entriesIn(json).map(([, value]) => value);
  return new Set(texts.filter(isText).map(folded));
}

/** The texts in a refusal that may be an error code: under a key for codes, in `error`, or one word under any other key. */
export function possibleCodes(body: unknown): string[] {
  const places = placesIn(body, false);
  const inside = places.filter(isRecord).flatMap(Object.values).filter(isText);
  const words = inside.filter((text) => /^[\w.-]+$/.test(text));
  return [...places.filter(isText), ...words, ...textsIn(places, CODE_KEY)];
}

function firstIn(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isListed(value: unknown): value is string {
  if (!isText(value)) return false;
  return WORDS.has(value.toLowerCase()) || (TOKEN.test(value) && BUSY_TEXT.test(lettersOf(value)));
}

/** Whether an error code only repeats a word or text of the request, or part of the access token. */
function wasSent(code: string, { call, accessToken }: Sent): boolean {
  const request = JSON.stringify([call.json, requestOf(call).path]).replace(/\\[bfnrt]/g, ' ');
  const word = new RegExp(`(?<![\\p{L}\\p{N}_])${code.replaceAll('.', '\\.')}(?![\\p{L}\\p{N}_])`, 'iu');
  return accessToken.includes(code) || word.test(request) || textsSent(call.json).has(folded(code));
}
