import { isUtf8 } from 'node:buffer';
import { jsonOrUndefined } from '../json.ts';
import { type LineBlock, LONGEST_LINE, lineBlocks } from './line-blocks.ts';
import {
  hasId,
  type LineRules,
  type Problem,
  problemsOf,
  ROUNDED,
  roundedField,
  STRICT,
  shownName,
  type WithId,
} from './update-line.ts';

export type UpdateFormat = 'csv' | 'jsonl';

/** One valid record of an update file. */
export interface UpdateRecord {
  /** Physical line on which the record begins, from 1. */
  line: number;
  /** Where that line begins in the file, in bytes; `null` for CSV. */
  from: number | null;
  /** The id and the fields to change. */
  record: WithId;
}

/** Valid records and problems, in the order of the lines. */
export type UpdateEntry = UpdateRecord | Problem;

export function isProblem(entry: UpdateEntry): entry is Problem {
  return 'sentence' in entry;
}

/** Entries that were read together, which is faster than one by one. */
interface UpdateBlock {
  entries: UpdateEntry[];
  /** Number of physical lines of the file so far. */
  lines: number;
}

/** Reads the blocks of one file in order. It never throws for their content. */
interface BlockReader {
  /** The line on which the next record begins. */
  line: number;
  /** Whether the rest of the file cannot be read. */
  stopped: boolean;
  read: (block: LineBlock, to: UpdateEntry[]) => Promise<void> | void;
  /** Reads the incomplete rest at the end of the file. */
  end?: (to: UpdateEntry[]) => Promise<void>;
}

/** A reader: `JSONL`, or `CSV` (read-csv.ts), which only the command uses. */
export interface UpdateReader {
  format: UpdateFormat;
  open: (rules: LineRules) => BlockReader;
}

/** The reader of JSON Lines. */
export const JSONL: UpdateReader = {
  format: 'jsonl',
  open: (rules) => new JsonlReader(createRecordCheck(rules)),
};

/** The reader for lines that another batch has validated. */
export const VALIDATED_JSONL: UpdateReader = { format: 'jsonl', open: () => new JsonlReader(FOUND_VALID) };

/**
 * Reads a file of customer updates of any size: valid records and problems, in line order. It needs about 100 bytes of
 * memory per record, for ids, to find duplicates. It never throws for the content of the file.
 */
export async function* readUpdates(
  reader: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules = STRICT,
): AsyncGenerator<UpdateEntry, void> {
  for await (const { entries } of readUpdateBlocks(reader, bytes, rules)) yield* entries;
}

/** Like `readUpdates`, but in blocks. */
export async function* readUpdateBlocks(
  { open }: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules = STRICT,
): AsyncGenerator<UpdateBlock, void> {
  const reader = open(rules);
  const wholeFile = (sentence: string) => ({ entries: [{ line: 0, field: null, sentence }], lines: reader.line - 1 });
  let isEmpty = true;
  let found = 0;
  for await (const block of lineBlocks(bytes)) {
    // UTF-16, workbooks, archives and other binary files have such bytes at their start.
    if (isEmpty && block.bytes.includes(0)) return yield wholeFile(NOT_A_TEXT);
    isEmpty = false;
    const entries: UpdateEntry[] = [];
    await reader.read(block, entries);
    found += entries.length;
    yield { entries, lines: reader.line - 1 };
    if (reader.stopped) break;
  }
  const entries: UpdateEntry[] = [];
  await reader.end?.(entries);
  yield { entries, lines: reader.line - 1 };
  if (found + entries.length === 0) yield wholeFile(isEmpty ? 'is empty' : 'holds no record to update');
}

const NOT_A_TEXT = 'is not a text in UTF-8: save it as UTF-8, a sheet as CSV (UTF-8)';
const LF = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads JSON Lines. A blank line is not a record. */
export class JsonlReader implements BlockReader {
  readonly stopped = false;
  readonly #check: RecordCheck;
  line: number;

  /** @param line the number of the first line */
  constructor(check: RecordCheck, line = 1) {
    this.#check = check;
    this.line = line;
  }

  read({ bytes, from, tooLong }: LineBlock, to: UpdateEntry[]): void {
    const valid = isUtf8(bytes);
    let at = from === 0 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
    for (; at < bytes.length; this.line += 1) {
      const found = bytes.indexOf(LF, at);
      const end = found === -1 ? bytes.length : found;
      if (tooLong || end - at > LONGEST_LINE) to.push(tooLongLine(this.line));
      else if (!valid && !isUtf8(bytes.subarray(at, end))) to.push(notUtf8(this.line));
      else this.#line(bytes.toString('utf8', at, end), from + at, to);
      at = end + 1;
    }
  }

  #line(text: string, from: number, to: UpdateEntry[]): void {
    const { line } = this;
    // Blank lines are common in a file made from a CSV or from failed lines.
    if (text.trim() === '') return;
    const record = jsonOrUndefined(text);
    if (isObject(record)) this.#check({ line, from, record, text }, to);
    else to.push({ line, field: null, sentence: notARecord(text, record) });
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notARecord(text: string, value: unknown): string {
  if (value !== undefined) return 'is not a JSON object';
  if (/^\s*\[/.test(text)) return 'begins a JSON array: write one object on each line, no brackets or commas around';
  return /^\s*\{/.test(text) ? 'is not JSON: each line must have one complete object' : 'is not a JSON object';
}

export function tooLongLine(line: number) {
  return { line, field: null, sentence: `is longer than ${LONGEST_LINE} bytes, the most that a line may have` };
}

export function notUtf8(line: number) {
  return { line, field: null, sentence: 'is not UTF-8: save the file as UTF-8' };
}

/** A record before its check. */
interface Unchecked extends Omit<UpdateRecord, 'record'> {
  record: Record<string, unknown>;
  /** The JSON text of the record. */
  text?: string;
}

/** Adds to `to` either the record or its problems. */
export type RecordCheck = (given: Unchecked, to: UpdateEntry[]) => void;

/** Checks records, and refuses an id that occurs twice: two changes to one customer might be applied in any order. */
export function createRecordCheck(rules: LineRules): RecordCheck {
  const lines = new Map<string, number>();
  return ({ line, from, record, text }, to) => {
    const problems = problemsOf(line, record, rules);
    const hidden = text === undefined || problems.length > 0 ? undefined : hiddenProblem(line, text, record);
    const known = hasId(record);
    const id = known ? shortened(record.id) : '';
    const first = lines.get(id);
    if (first !== undefined) {
      to.push({ line, field: 'id', sentence: `is the same as on line ${first}: a file changes a customer once` });
    } else if (known) {
      lines.set(id, line);
      if (problems.length === 0 && !hidden) to.push({ line, from, record });
    }
    to.push(...problems, ...(hidden ? [hidden] : []));
  };
}

/** The 16 bytes of a UUID as 16 characters, without letter case: for a million ids this saves 70 MB. */
function shortened(id: string): string {
  return Buffer.from(id.replaceAll('-', ''), 'hex').toString('latin1');
}

/** A string in JSON, and the colon after it if it is a key. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g;

/** Problems that `JSON.parse` hides: an earlier key of the same name, and digits that a number cannot keep. */
function hiddenProblem(line: number, text: string, record: Record<string, unknown>): Problem | undefined {
  if (JSON.stringify(record) === text) return undefined;
  let keys = 0;
  for (const [, colon] of text.matchAll(STRING)) if (colon) keys += 1;
  const expected = Object.keys(record).length + Object.keys(record.customFields ?? {}).length;
  if (keys > expected) return { line, field: null, sentence: 'gives a field twice' };
  const rounded = roundedField(text);
  return rounded === undefined ? undefined : { line, field: shownName(rounded), sentence: ROUNDED };
}

/** The check for lines that were validated before, perhaps by another release with other rules: it needs only an id. */
export const FOUND_VALID: RecordCheck = ({ line, from, record }, to) => {
  to.push(hasId(record) ? { line, from, record } : { line, field: 'id', sentence: 'is no UUID' });
};

const EXTENSIONS: Record<string, UpdateFormat> = { '.csv': 'csv', '.jsonl': 'jsonl', '.ndjson': 'jsonl' };

/** The format by the extension of a file name, or the problem with the name. */
export function formatOf(name: string): UpdateFormat | Problem {
  const extension = /\.[^.\\/]*$/.exec(name)?.[0].toLowerCase() ?? '';
  const format = Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
  if (format) return format;
  const known = Object.keys(EXTENSIONS).join(', ');
  return { line: 0, field: null, sentence: `must have a name that ends in one of ${known}` };
}
