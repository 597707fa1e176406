import { cased, folded } from '../folded.ts';
import { isRecord, jsonOrUndefined, ownValue } from '../json.ts';

/**
 * Whether the body of a 2xx answer contradicts the request. The record may be the body itself or inside up to three
 * wrappers: `{ "data": { "customer": { … } } }`.
 */

/** What the body of a 2xx answer shows about whether the CRM made the change. */
export interface BodyJudgement {
  /** How the body contradicts the request, as the end of a sentence; `undefined` if it does not. */
  contradiction: string | undefined;
  /** The body contains an error and no record: the CRM refused the call. */
  isRefusal: boolean;
}

interface Sent {
  /** The id of the record, if the answer may repeat it. */
  id?: string | undefined;
  /** The fields that the answer may repeat. */
  fields?: Record<string, unknown>;
  /** Whether the id and the values are compared (`updates.confirmation`), besides the error and status words. */
  isCompared?: boolean;
}

/** An object of the body that may be the record. Its keys are folded. */
interface Level {
  /** The folded key that holds this object; empty for the whole body. */
  wrapper: string;
  entries: [key: string, value: unknown][];
}
/** The sent fields by their folded names. */
type SentFields = ReadonlyMap<string, { name: string; value: unknown }>;

const MOST_WRAPPERS = 3;
/**
 * What an object inside of another is, by its key; the first row that matches counts. `record`: the record. `fields`:
 * its fields or, next to an error, the reasons by field: `{ "city": "unknown" }`. `call`: describes the call. `caller`:
 * describes who made it. `none`: describes the answer, its author, related records or the record before the change.
 */
const PARTS: [part: string, keys: RegExp][] = [
  ['record', /^(?:attributes|body|content|customers?|d|data|entity|export|items?|output|payload|records?)$/],
  ['record', /^(?:response|results?|return|updated|value)$/],
  ['fields', /^(?:document|fields|model|node|object|properties|values)$/],
  ['call', /^(?:meta|head(?:er)?|(?:response)?status)$/],
  ['none', /^(?:errors?$|meta|request|trace|debug|links?$|embedded|included|pag|context)/],
  ['caller', /^(?:user|session)/],
  ['none', /^(?:audit|history|before|old|original|prev)|by$/],
];
const partOf = (key: string) => PARTS.find(([, keys]) => keys.test(key))?.[0] ?? 'other';

/** Matches keys that describe a failed call, not a record: `statusCode`, `failedCount`. */
const OF_FAILURE =
  /^(?:has|is)?(?:code|detail|error|fail|hint|info|message|ok$|path|reason|result|status|success|time|title|total|trace|type|warning)/;

export function judgeBody(body: unknown, { id, fields = {}, isCompared = true }: Sent = {}): BodyJudgement {
  const sent = new Map(Object.entries(fields).map(([name, value]) => [folded(name), { name, value }]));
  // It controls the update. It is not a value of the customer.
  sent.delete('updaterelated');
  const all = levelsOf(body, sent, fields.updateRelated === true);
  const ours = hexOf(id);
  const isForeign = (level: Level) => isCompared && id !== undefined && ![undefined, ours].includes(idIn(level));
  const hasOurs = all.some((level) => idIn(level) !== undefined && !isForeign(level));
  // Objects with another id are ignored if one has the expected id: a wrapper or a related record may have its own id.
  const levels = hasOurs ? all.filter((level) => !isForeign(level)) : all;
  const hasError = levels.some(hasErrorIn);
  const other = isCompared ? otherValue(levels, sent) : undefined;
  const reasons = [
    hasError && 'the answer contains an error',
    levels.some((level) => saysFailed(level, sent)) && 'the answer says that the call failed',
    levels.some(isForeign) && 'the answer has the id of another record',
    other !== undefined && `the answer has a different value of ${other} than the request`,
  ];
  const contradiction = reasons.find((reason) => typeof reason === 'string');
  return { contradiction, isRefusal: hasError && !all.some((level) => isRecordBesideError(level, sent)) };
}

/** The objects that may be the record: the body itself and the contents of its wrappers. */
function levelsOf(body: unknown, ...sent: [SentFields, hasRelated: boolean]): Level[] {
  const layers = [objectsIn(isRecord(body) ? '' : 'items', body)];
  for (let wrappers = 0; wrappers < MOST_WRAPPERS; wrappers += 1)
    layers.push(layers[wrappers]?.flatMap((level) => wrappedIn(level, ...sent)) ?? []);
  return layers.flat();
}

/**
 * The objects inside an object that may be the record: those under the usual keys. If there are none and the object has
 * no id, those under its only other key, or next to a failure all of them. An object that repeats a sent field is the
 * record itself: the objects inside are parts of it, or related records, and only their errors count.
 * @param hasRelated related customers may be listed: such a list counts only if it is alone or reports a failure
 */
function wrappedIn(level: Level, sent: SentFields, hasRelated: boolean): Level[] {
  const inside = (...parts: string[]) =>
    level.entries.flatMap(([key, value]) =>
      parts.includes(sent.has(key) ? 'sent' : partOf(key)) ? objectsIn(key, value) : [],
    );
  const isFailure = (one: Level) => hasErrorIn(one) || saysFailed(one, sent);
  if (level.entries.some(([key, value]) => sent.has(key) && objectsIn(key, value).length === 0))
    return inside('sent', 'record').filter(hasErrorIn);
  const usual = inside('record', 'fields');
  const isFound = usual.length > 0 || level.entries.some(([key]) => key === 'id');
  // In a record, such objects may be values: `{ "status": { "code": 404 } }`.
  const isEnvelope = !mayBeRecord(level, sent);
  const isKept = (one: Level) => isEnvelope || (!isFound && (hasErrorIn(one) || hasNoSuccess(one)));
  const failures = [...inside('sent').filter(isFailure), ...inside('call').filter(isKept).map(errorsOf)];
  if (isFound) return [...usual, ...failures];
  const lists = hasRelated && level.entries.length > 1 ? level.entries.filter(([, value]) => Array.isArray(value)) : [];
  const related = new Set(lists.map(([key]) => key));
  const own = inside('other').filter((one) => !related.has(one.wrapper) || isFailure(one));
  const others = own.length > 0 ? own : inside('caller');
  const isOne = others.every(({ wrapper }) => wrapper === others[0]?.wrapper);
  return isOne || hasErrorIn(level) || others.some(isFailure) ? [...others, ...failures] : failures;
}

/** Keeps what an object says about the failure of the call. Its ids are not those of the record. */
function errorsOf({ wrapper, entries }: Level): Level {
  const isKept = ([key, value]: Level['entries'][number]) =>
    OF_FAILURE.test(key) && !key.endsWith('id') && (typeof value !== 'object' || /^errors?$/.test(key));
  return { wrapper, entries: entries.filter(isKept) };
}

const isFalse = worded(/^(?:0|error|f(?:alse)?|fail(?:ed|ure)?|no?|לא)$/i);
const NO_KEY = /^(?:is)?(?:ok|succeeded|success(?:ful)?)$/;
const hasNoSuccess = ({ entries }: Level) => entries.some(([key, value]) => NO_KEY.test(key) && isFalse(value));
const hasErrorIn = ({ entries }: Level) => entries.some(([key, value]) => /^errors?$/.test(key) && isError(value));

/** Whether an object next to an error is the record. If it is, the CRM may have made the change. */
function isRecordBesideError(level: Level, sent: SentFields): boolean {
  const { wrapper, entries } = level;
  const mayHoldReasons = wrapper !== '' && !hasErrorIn(level);
  return entries.some(([key, value]) => {
    if (value === null || key === 'id') return value !== null;
    if (partOf(wrapper) === 'record') return sent.has(key) || !(OF_FAILURE.test(key) || typeof value === 'object');
    return sent.has(key) && (!mayHoldReasons || comparableOf(sent.get(key)?.value) === comparableOf(value));
  });
}

const ERROR_KEY = /^(?:has|is)?(?:err|fault|exception)|(?<!no)(?:errors?|fault|fail(?:ed|ures?)?|rejected)(?:count)?$/;
const FAILED = /^(?:err|fail|(?:denied|exception|false|invalid|ko|nok|refused|rejected|unauthorized|unsuccessful)$)/i;
const SUCCESS_KEY = /^(?:ok|status|(?:is)?success(?:ful)?)$/;
/** What a body without a record says about the call, by its keys and values. The first row that matches counts. */
const SAYINGS: [keys: RegExp, says: (value: unknown) => boolean, what: 'done' | 'failed'][] = [
  [/^(?:outcome|re(?:sponse|sult|turn)(?:code|status)|result|status)$/, worded(FAILED), 'failed'],
  [/^(?:code|status|statuscode)$/, worded(/^[45]\d\d$/), 'failed'],
  [SUCCESS_KEY, worded(/^(?:true|1|ok|success\w*)$/i), 'done'],
  // Some services repeat the status 200 in the body of an answer that contains an error code.
  [/^errorcode$/, (value) => isError(value) && /^(?!.*(?<!un)success).*[a-z]{3}/i.test(String(value)), 'failed'],
  // The text of an `errorMessage` next to such a code is not read: it may say in any language that the call succeeded.
  [/code$|^err(?:or)?(?:no|number)$/, worded(/^(?:0+|2\d\d|ok|success)$/i), 'done'],
  [SUCCESS_KEY, worded(/^2\d\d$/), 'done'],
  [ERROR_KEY, isError, 'failed'],
  // In HAL, `_embedded` contains related records. Some services also report errors there.
  [/^embedded$/, (value) => isError(ownValue(value, 'errors')), 'failed'],
];

/** Whether an object says that the call failed: `{ "success": false }`, or outside of a record `{ "status": "error" }`. */
function saysFailed(level: Level, sent: SentFields): boolean {
  if (hasNoSuccess(level)) return true;
  if (mayBeRecord(level, sent)) return false;
  const isSaid = ([keys, says]: (typeof SAYINGS)[number]) =>
    level.entries.some(([key, value]) => keys.test(key) && says(value));
  return SAYINGS.find(isSaid)?.[2] === 'failed';
}

/** Whether an object may be a record. In a record, a word such as `failed` may be a value. */
function mayBeRecord({ wrapper, entries }: Level, sent: SentFields): boolean {
  if (wrapper !== '' && !entries.every(([key, value]) => typeof value === 'object' || OF_FAILURE.test(key)))
    return true;
  return entries.some(([key]) => /^(?:uu|export|customer)?id$/.test(key) || sent.has(key));
}

/** The object under a key, or the objects in the list under it, or in its JSON: `{ "code": 200, "body": "{…}" }`. */
function objectsIn(wrapper: string, value: unknown): Level[] {
  const mayBeJson = typeof value === 'string' && ['record', 'fields'].includes(partOf(wrapper));
  const read = mayBeJson ? jsonOrUndefined(value) : value;
  const values = Array.isArray(read) ? read : [read];
  return values.filter(isRecord).map((one) => ({
    wrapper,
    entries: Object.keys(one).map((key) => [folded(key), ownValue(one, key)]),
  }));
}

function idIn({ entries }: Level): string | undefined {
  const values = new Map(entries);
  return hexOf(values.has('id') ? values.get('id') : values.get('customerid'));
}

/** The digits of a UUID in any usual form: with braces, as a URN, or without hyphens. */
function hexOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const hex = value.toLowerCase().replace(/^\s*urn:uuid:|[{}\s-]/g, '');
  return /^[\da-f]{32}$/.test(hex) ? hex : undefined;
}

/** Tests whether a text, number or boolean matches. Objects are never converted: in JSON, `toString` may be a value. */
function worded(words: RegExp): (value: unknown) => boolean {
  return (value) => typeof value !== 'object' && words.test(String(value).trim());
}

/** Texts in `error` that mean that no error occurred. */
const isNoErrorText = worded(
  /^(?:0+|200|false|n(?:\/?a|il|o|one|ull)?|undefined|(?:no|0)[ _-]?errors?(?: found)?|ok|done|(?:completed )?success(?:ful|fully)?|(?:אין|ללא)(?: שגיא(?:ה|ות))?|\[\]|\{\})?\.?$/i,
);

/** Whether the value of a key such as `error` reports an error. `[]` and `{ "code": 0, "message": "OK" }` do not. */
function isError(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return Boolean(value) && !isNoErrorText(value);
  return depth >= MOST_WRAPPERS || Object.values(value).some((inner) => isError(inner, depth + 1));
}

/** The name of the first field whose value in the answer differs from the value that was sent. */
function otherValue(levels: readonly Level[], sent: SentFields): string | undefined {
  const fields = levels.flatMap(({ entries }) => entries.map(([key, echoed]) => ({ ...sent.get(key), echoed })));
  return fields.find(({ name, value, echoed }) => name !== undefined && isOther(name, value, echoed))?.name;
}

const comparableOf = (value: unknown) => (typeof value === 'string' ? comparableText(value) : value);

/** Whether the value in the answer contradicts the value that was sent. Values of different JSON types do not. */
function isOther(name: string, sent: unknown, echoed: unknown): boolean {
  if (typeof sent === 'string' && typeof echoed === 'string') return isOtherText(name, sent, echoed);
  // A CRM may round to hundredths.
  if (typeof sent === 'number' && typeof echoed === 'number') return Math.abs(sent - echoed) > 0.0051;
  return typeof sent === 'boolean' && typeof echoed === 'boolean' && sent !== echoed;
}

/** Matches comparable texts that are masked, also by a word in brackets, shortened, HTML-encoded or badly decoded. */
const MASK =
  /[*\ufffd\u2022\u204e\u2217\u2580-\u25ff]|x{3}|#{2}|\.{3}|^[-_]{3}|&(?:#x?[\da-f]+|[a-z]+);|^(?:hidden|masked|null|redacted|undefined)$|^[[(<{]+[\p{L}_-]+[\])>}]+$/u;
const PHONE = /phone|cell|fax/i;
const PHONE_DIGITS = 7;
/** Fields whose value is one of a set of words. Services return such words as labels or in another language. */
const WORDS = ['bankAccountType', 'country'];

function isOtherText(name: string, sent: string, echoed: string): boolean {
  const [ours, theirs] = [comparableText(sent), comparableText(echoed)];
  if (ours === theirs) return false;
  if (ours === '' || theirs === '') return true;
  if (MASK.test(theirs)) return false;
  if (PHONE.test(name)) return isOtherPhone(sent, echoed);
  if (DATE.test(sent)) return echoed.length <= LONGEST_DATE && isOtherDate(sent, echoed);
  const hex = hexOf(sent);
  if (hex !== undefined) return ![undefined, hex].includes(hexOf(echoed));
  if (WORDS.includes(name) && kindOfWord(sent) !== kindOfWord(echoed)) return false;
  return !isCut(ours, theirs) && !isAddedTo(sent, echoed) && !isNumberFor(ours, theirs);
}

/**
 * Removes differences that services make in a text: Unicode form, tags of HTML, white space, invisible characters,
 * letter case, and the kind of dashes and quotation marks, such as the gershayim of Hebrew.
 */
function comparableText(text: string): string {
  const normalized = text
    .normalize('NFKC')
    .replace(/<\/?(?:b|br|div|em|i|p|span|strong)\b[^<>]*>/gi, '')
    .replace(/[\s\p{Cf}]/gu, '')
    .replace(/\p{Pd}/gu, '-')
    .replace(/[\p{Pi}\p{Pf}\u02bc\u05f3\u05f4\u2032\u2033`"]/gu, "'");
  return cased(normalized);
}

/** Whether the CRM kept only the beginning of a long text, removed leading zeros, or kept only the last four digits. */
function isCut(ours: string, theirs: string): boolean {
  if (theirs.length >= 3 && ours.startsWith(theirs) && !ours.includes('@')) return true;
  // Separators are ignored only in long numbers: house `12/3` is not house `123`.
  const comparable = (text: string) =>
    text.replace(/^[\d./-]{8,}$/, (long) => long.replace(/[./-]/g, '')).replace(/^0+(?=\d)/, '');
  const sent = comparable(ours);
  return /^\d+$/.test(sent) && (sent === comparable(theirs) || (/^\d{4}$/.test(theirs) && ours.endsWith(theirs)));
}

/** Whether the CRM added a title or a number: `Ms. Dana`, `ID-12345`, `Haifa (4000)`, `Dana <dana@example.com>`. */
function isAddedTo(sent: string, echoed: string): boolean {
  const [ours, theirs] = [sent, echoed].map(cased) as [string, string];
  const isAddress = ours.includes('@');
  const joins = isAddress ? /[\p{L}\p{N}._+-]/u : /[\p{L}\p{N}]/u;
  const isBeside = (at: number) => {
    const [before = '', after = ''] = [theirs[at - 1], theirs[at + ours.length]];
    // `not paid yet` does not mean `paid`.
    return at !== -1 && (isAddress || before === '' || after === '') && !joins.test(before + after);
  };
  return ours.length >= 3 && [theirs.indexOf(ours), theirs.lastIndexOf(ours)].some(isBeside);
}

/** Whether one text is a numeric code and the other is a name. */
function isNumberFor(one: string, other: string): boolean {
  const isNumber = (text: string) => /^\d+$/.test(text);
  return (isNumber(one) && !/\d/.test(other)) || (isNumber(other) && !/\d/.test(one));
}

function kindOfWord(text: string): string {
  // The two-letter and the three-letter code of a country are different kinds.
  if (/^[A-Z]{2,3}$/.test(text)) return `code of ${text.length}`;
  if (/^[A-Z][A-Z\d_]*$/.test(text)) return 'code';
  return /^[\p{Script=Latin}\s\p{P}]+$/u.test(text) ? 'latin' : 'other';
}

/** Whether the last digits of two phone numbers differ. An extension or a prefix in one of them is ignored. */
function isOtherPhone(sent: string, echoed: string): boolean {
  const [ours, theirs] = [sent, echoed].map((text) => text.replace(/\D/g, '')) as [string, string];
  const isIn = (one: string, other: string) =>
    one.length < PHONE_DIGITS ? other.endsWith(one) : other.includes(one.slice(-PHONE_DIGITS));
  return !isIn(theirs, ours) && !isIn(ours, theirs);
}

/** Matches a date, with or without a time. */
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d.*)?$/;
/** A longer text is not a date, and matching the patterns below against it would take long. */
const LONGEST_DATE = 100;
const DAY_MS = 86_400_000;
/** Matches the time of day in a date: `2026-11-20T10:00:00Z`, `20/11/2026 10:00`. */
const CLOCK = /[T ]+\d{1,2}:\d\d.*$/;
const ZONE = /(?:Z|GMT|UTC|(?:GMT)?[+-]\d\d(?::?\d\d)?)$/;
const MIDNIGHT = /^(?:00?(?::00)+(?:\.0+)?|12(?::00)+ am)$/i;

/** Whether two dates differ. Day and month may be in either order, and a date may be midnight in any time zone. */
function isOtherDate(sent: string, text: string): boolean {
  const isTime = sent.includes('T');
  const echoed = usualForm(text);
  const clock = CLOCK.exec(echoed)?.[0].replace(/^[T ]+/, '') ?? '';
  const instant = isTime && ZONE.test(clock) ? instantOf(echoed) : Number.NaN;
  if (!Number.isNaN(instant))
    return Math.abs(instantOf(sent) - instant) >= (/\d:\d\d:\d\d/.test(clock) ? 1000 : 60_000);
  // A time of day without an offset may be in any time zone, so its date may be the day before or after.
  const isDay = !isTime && (clock === '' || MIDNIGHT.test(clock.replace(ZONE, '').trim()));
  const days = daysIn(echoed);
  const most = isDay ? 0 : DAY_MS;
  return days.length > 0 && days.every((day) => Math.abs(day - Date.parse(sent.slice(0, 10))) > most);
}

/** Converts dates such as `20261120T100000Z` and `/Date(1795168800000)/` to the form with hyphens and colons. */
function usualForm(text: string): string {
  const [, milliseconds] = /^\/Date\((-?\d{1,14})/.exec(text) ?? [];
  if (milliseconds !== undefined) return new Date(Number(milliseconds)).toISOString();
  return text
    .replace(/\p{Cf}|\s*[([][^\])]*[\])]$/gu, '')
    .replace(/^(\d{4})(\d\d)(\d\d)(?=[T ]|$)/, '$1-$2-$3')
    .replace(/(?<=-\d\dT\d\d)(\d\d)(\d\d)?(?!\d)/, (_, minutes, seconds = '00') => `:${minutes}:${seconds}`);
}

/** Milliseconds since 1970; NaN for a text that is not a time. */
function instantOf(text: string): number {
  return Date.parse(text.replace(/(:\d\d(?:\.\d+)?[+-]\d\d)$/, '$1:00'));
}

/**
 * The days that a text may mean, in milliseconds since 1970: `02/01/1990` is in January or February, `2 Jan 1990` in
 * any month. The list is empty for a text that is not a date or has a year of another calendar.
 */
function daysIn(text: string): number[] {
  const date = text
    .replace(CLOCK, '')
    .replace(/(?<=^\d{4}-\d\d-\d\d)(?:Z|[+-]\d\d:?\d\d)$/, '')
    .trim();
  const numbers = (date.match(/\d+/g) ?? []).map(Number);
  const [a = 0, b = 0, c = 0] = numbers;
  if (numbers.length === 3) return [...daysOf(a, b, c), ...daysOf(c, b, a), ...daysOf(c, a, b)];
  if (numbers.length !== 2 || !/\p{L}/u.test(date)) return [];
  return Array.from({ length: 12 }, (_, index) => daysOf(b, index + 1, a)).flat();
}

/** The days that three numbers may mean. A year with two digits may be in this century or the last one. */
function daysOf(year: number, month: number, day: number): number[] {
  if (month > 12 || day > 31) return [];
  // `Date.UTC` adds 1900 to a year with two digits.
  const years = [year, 2000 + year].filter((each) => each < 2200);
  return years.map((each) => Date.UTC(each, month - 1, day));
}
