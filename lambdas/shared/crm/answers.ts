import * as z from 'zod/mini';
import { RunError } from '../errors.ts';
import { isPlainName } from '../suggestion.ts';
import { type Call, unanswered } from './call.ts';

/** No answer of this interface is a file: beyond this it is not read, so that a broken service cannot exhaust the memory. */
const LARGEST_ANSWER = 5_000_000;

/**
 * The JSON of an answer, parsed by a schema.
 * @throws RunError `CrmContractError` naming the keys seen, never values; `CrmUnavailable` or `CreateUnanswered` when the
 *   answer broke off.
 */
export async function readJson<T>(response: Response, call: Call, schema: z.core.$ZodType<T>): Promise<T> {
  const text = await readText(response, call);
  const where = `${call.method.toUpperCase()} ${call.template} was answered ${response.status}`;
  const value = parse(text, `${where}, but not in JSON (${text.length} characters).`);
  const parsed = z.safeParse(schema, value);
  if (parsed.success) return parsed.data;
  const paths = parsed.error.issues.map((issue) => issue.path.join('.')).filter(Boolean);
  const problem = paths.length > 0 ? ` (wrong at ${[...new Set(paths)].slice(0, 10).join(', ')})` : '';
  throw new RunError('CrmContractError', `${where} in a shape that is not known${problem}: ${shapeOf(value)}.`);
}

/** What a value looks like, without its values: for messages. */
export function shapeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value))
    return value.length > 0
      ? `an array of ${value.length}, first ${Array.isArray(value[0]) ? 'another array' : shapeOf(value[0])}`
      : 'an empty array';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const keys = Object.keys(value);
  // A key may be data as well, such as an address of a person.
  const named = keys.filter(isPlainName).slice(0, 20);
  const others = keys.length > named.length ? [`${keys.length - named.length} that are not repeated here`] : [];
  return keys.length > 0 ? `an object with the keys ${[...named, ...others].join(', ')}` : 'an object without keys';
}

async function readText(response: Response, call: Call): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > LARGEST_ANSWER) break;
    }
  } catch (error) {
    throw unanswered(call, 'broke off in the middle of its answer', { cause: error });
  }
  if (text.length <= LARGEST_ANSWER) return text + decoder.decode();
  throw new RunError(
    'CrmContractError',
    `${call.method.toUpperCase()} ${call.template} was answered with more than ${LARGEST_ANSWER} characters.`,
  );
}

function parse(text: string, complaint: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // JSON.parse quotes the text it chokes on; that text may hold records.
    throw new RunError('CrmContractError', complaint);
  }
}

/** A schema of what services answer bare or wrapped in an object, under one of these keys. */
export function unwrapped<T extends z.core.$ZodType>(schema: T, ...wrappers: string[]) {
  return z.pipe(
    z.transform((answer) => unwrap(answer, ...wrappers)),
    schema,
  );
}

function unwrap(value: unknown, ...wrappers: string[]): unknown {
  const object = z.record(z.string(), z.unknown()).safeParse(value);
  const wrapper = object.success ? wrappers.find((key) => key in object.data) : undefined;
  return wrapper && object.success ? object.data[wrapper] : value;
}
