import * as z from 'zod/mini';
import { entriesIn, ownValue } from '../json.ts';
import { isSafeName } from '../suggestion.ts';

/** Reads the bodies of successful answers: the id, the record and the URL of an export, in every accepted shape. */

const ID_FIELDS = ['id', 'uuid', 'exportId'];
/** Keys that may contain the list of fields in the answer to `GET /{entity}/fields`. */
export const FIELD_LISTS = ['data', 'fields', 'items'];

/** The body itself, and its value under `data`. */
const levelsOf = (body: unknown) => [body, ownValue(body, 'data')];
/** Some services return the UUID of zeros in place of an id. */
const guidSchema = z.guid().check(z.regex(/[1-9a-f]/i));
const guidIn = (value: unknown) => guidSchema.safeParse(value).data;

/** The UUID in the answer to a create: the answer itself, or the value of a field of `ID_FIELDS`. */
export function exportIdIn(body: unknown): string | undefined {
  return levelsOf(body)
    .flatMap((level) => [level, ...ID_FIELDS.map((field) => ownValue(level, field))])
    .map(guidIn)
    .find((id) => id !== undefined);
}

export const STATUSES = ['INITIATED', 'PROCESSING', 'PROCESSED', 'FAILED'] as const;
export type ExportStatus = (typeof STATUSES)[number];

/** The status for a word of the CRM, in any letter case; `undefined` if the interface document does not list it. */
export function statusOf(word: unknown): ExportStatus | undefined {
  return STATUSES.find((status) => typeof word === 'string' && status === word.trim().toUpperCase());
}

const statusRecord = z.looseObject({ status: z.string() });

/**
 * Stage 2: finds the record, which is the body itself or its `data`. Both may have a `status` and an id. The body
 * itself is the record if its status is listed or its id is that of the export.
 */
export function recordSchema(exportId: string) {
  const recordIn = (body: unknown): unknown => {
    const [bare, wrapped] = levelsOf(body).map((level) => statusRecord.safeParse(level).data);
    const isRecord = bare && (statusOf(bare.status) || isOfExport(bare, exportId));
    return isRecord ? bare : (wrapped ?? body);
  };
  return z.pipe(z.transform(recordIn), statusRecord);
}

/** Whether a record is of this export; `undefined` if the record has no id. */
export function isOfExport(record: object, exportId: string): boolean | undefined {
  const ids = ID_FIELDS.flatMap((field) => guidIn(ownValue(record, field)) ?? []);
  return ids.length === 0 ? undefined : ids.some((id) => id.toLowerCase() === exportId.toLowerCase());
}

/**
 * Stage 2: the kind of status in a body; `undefined` if the body has no status. `blank`: the body, its `data` or its
 * status is empty. `unlisted`: the interface document does not list the status.
 */
export function kindOfStatus(body: unknown): 'listed' | 'unlisted' | 'blank' | undefined {
  const levels = levelsOf(body);
  const statuses = levels.map((level) => ownValue(level, 'status')).filter((status) => status !== undefined);
  const isBlank = (status: unknown) => status === null || (typeof status === 'string' && status.trim() === '');
  if (statuses.some(statusOf)) return 'listed';
  if (statuses.every(isBlank) && (statuses.length > 0 || levels.some(isEmptyValue))) return 'blank';
  return statuses.some((status) => typeof status === 'string') ? 'unlisted' : undefined;
}

/** Whether a body is a list, or contains one under a key of `FIELD_LISTS`. */
export function hasList(body: unknown): boolean {
  return [body, ...FIELD_LISTS.map((key) => ownValue(body, key))].some(Array.isArray);
}

/** The answer to a request for the URL of a file. */
export const linkSchema = unwrapped(z.object({ url: z.url() }), 'data');

/** Matches keys under which services return the URL of a file. */
const ADDRESS_KEY = /ur[il]|link|href|address|file|path/i;

/** Matches a placeholder for a URL that does not exist yet: words and signs in any language, such as `pending`. */
const NO_ADDRESS = /^(?:n\/a|(?:(?!\.\p{L})[^\p{N}/\\:])*)$/iu;

/** Whether an answer has no URL of a file: `url` is empty, or `url` is missing and no other text may be a URL. */
export function isWithoutAddress(body: unknown): boolean {
  const inner = ownValue(body, 'url') === undefined ? unwrap(body, 'data') : body;
  const url = typeof inner === 'string' ? inner : ownValue(inner, 'url');
  if (typeof url === 'string') return NO_ADDRESS.test(url.trim());
  if (url !== undefined) return !url || isEmptyValue(url);
  const mayBeAddress = (key: string, text: string) =>
    /^\s*[a-z][a-z\d+.-]*:\/\//i.test(text) || (ADDRESS_KEY.test(key) && text !== '');
  return (
    typeof inner === 'object' &&
    !entriesIn(inner).some(([key, one]) => typeof one === 'string' && mayBeAddress(key, one))
  );
}

/** Accepts a value itself, or an object that contains it under one of these keys. */
export function unwrapped<T extends z.core.$ZodType>(schema: T, ...wrappers: string[]) {
  return z.pipe(
    z.transform((answer) => (z.safeParse(schema, answer).success ? answer : unwrap(answer, ...wrappers))),
    schema,
  );
}

function unwrap(value: unknown, ...wrappers: string[]): unknown {
  const wrapper = wrappers.find((key) => ownValue(value, key) !== undefined);
  return wrapper === undefined ? value : ownValue(value, wrapper);
}

/** Whether a value is `null`, or an object or array without content. */
function isEmptyValue(value: unknown): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0);
}

/** Describes the shape of an answer for messages. It shows keys and types, and no values. */
export function shapeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    const first = Array.isArray(value[0]) ? 'another array' : shapeOf(value[0]);
    return value.length > 0 ? `an array of ${value.length}, first ${first}` : 'an empty array';
  }
  if (typeof value !== 'object') return `a ${typeof value}`;
  const keys = Object.keys(value);
  // A key may be customer data, such as an e-mail address.
  const named = keys.filter(isSafeName).slice(0, 20);
  const others = keys.length > named.length ? [`${keys.length - named.length} keys that are not shown`] : [];
  return keys.length > 0 ? `an object with the keys ${[...named, ...others].join(', ')}` : 'an object without keys';
}
