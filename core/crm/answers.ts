import * as z from 'zod/mini';
import { RunError } from '../errors.ts';
import { UnreadableBody, type WholeAnswer } from '../http/whole-answer.ts';
import { jsonOrUndefined } from '../json.ts';
import { isPlainName } from '../suggestion.ts';
import { type CrmCall, isCreate, nameOf, unanswered } from './call.ts';

/** @throws RunError `CrmContractError` naming the keys seen, never values; for an unreadable answer, see `unreadable` */
export async function readJson<T>(response: WholeAnswer, call: CrmCall, schema: z.core.$ZodType<T>): Promise<T> {
  const value = await jsonOf(response, call);
  const where = `${nameOf(call)} was answered ${response.status}`;
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map((issue) => issue.path.join('.')).filter(Boolean);
  const problem = paths.length > 0 ? ` (wrong at ${[...new Set(paths)].slice(0, 10).join(', ')})` : '';
  throw new RunError('CrmContractError', `${where} in a shape that is not known${problem}: ${shapeOf(value)}.`);
}

/** Describes the shape of an answer for messages: it names keys and types, no values. */
export function shapeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    const first = Array.isArray(value[0]) ? 'another array' : shapeOf(value[0]);
    return value.length > 0 ? `an array of ${value.length}, first ${first}` : 'an empty array';
  }
  if (typeof value !== 'object') return `a ${typeof value}`;
  const keys = Object.keys(value);
  // A key may be data, such as an e-mail address.
  const named = keys.filter(isPlainName).slice(0, 20);
  const others = keys.length > named.length ? [`${keys.length - named.length} that are not repeated here`] : [];
  return keys.length > 0 ? `an object with the keys ${[...named, ...others].join(', ')}` : 'an object without keys';
}

async function jsonOf(response: WholeAnswer, call: CrmCall): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    if (!(error instanceof UnreadableBody)) throw error;
    throw unreadable(call, error.message, { cause: error, cut: error.reason === 'cut off' });
  });
  const value = jsonOrUndefined(text);
  if (value !== undefined) return value;
  throw unreadable(call, `${response.status}${contentType(response)}, but not in JSON (${text.length} characters)`);
}

/**
 * The error of an answer that cannot be read. A create gives `CreateUnanswered`. Where the run has an export it is a
 * `CrmContractError` that is waited out; before that a final one, or `CrmUnavailable` where the answer broke off.
 */
function unreadable(call: CrmCall, what: string, { cut, cause }: { cut?: boolean; cause?: unknown } = {}): RunError {
  const answered = `was answered ${what}`;
  const hasExport = call.template.includes('{id}');
  if (isCreate(call) || (cut && !hasExport)) return unanswered(call, answered, { cause });
  const message = `${nameOf(call)} ${answered}.`;
  return new RunError('CrmContractError', message, { cause, momentary: hasExport && cut !== false });
}

/** The media type of an answer, for messages. */
export function contentType({ headers }: Pick<WholeAnswer, 'headers'>): string {
  const type = headers.get('content-type')?.match(/^[a-z]+\/[a-z+.-]+/i)?.[0];
  return type ? ` (${type})` : '';
}

/** What services answer bare, or wrapped in an object under one of these keys. */
export function unwrapped<T extends z.core.$ZodType>(schema: T, ...wrappers: string[]) {
  return z.pipe(
    z.transform((answer) => (z.safeParse(schema, answer).success ? answer : unwrap(answer, ...wrappers))),
    schema,
  );
}

function unwrap(value: unknown, ...wrappers: string[]): unknown {
  const object = z.record(z.string(), z.unknown()).safeParse(value);
  const wrapper = object.success ? wrappers.find((key) => key in object.data) : undefined;
  return wrapper && object.success ? object.data[wrapper] : value;
}
