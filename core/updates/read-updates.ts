import { isUtf8 } from 'node:buffer';
import { isRecord, jsonOrUndefined } from '../json.ts';
import { type LineBlock, LONGEST_LINE, lineBlocks, lineCount, textStart } from './line-blocks.ts';
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

/** One valid record of an update file. */
export interface UpdateRecord {
  /** Physical line on which the record begins, from 1. */
  line: number;
  /** The byte of the file at which the line begins; `null` for CSV. */
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

/**
 * Reads a file of customer updates of any size: valid records and problems, in line order. It needs about 100 bytes of
 * memory per record, for ids, to find duplicates. It never throws for the content of the file.
 */
export type UpdateReader = (bytes: AsyncIterable<Uint8Array>, rules: LineRules) => AsyncGenerator<UpdateBlock, void>;

/** The reader of JSON Lines. The reader of CSV is in `read-csv.ts`; only the command uses it. */
export const JSONL: UpdateReader = (bytes, rules) => {
  const check = createRecordCheck(rules);
  return readBlocks(bytes, { read: (block, line) => readJsonLines(block, line, check) });
};

/** The entries of a file, one by one. */
export async function* readUpdates(
  read: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules = STRICT,
): AsyncGenerator<UpdateEntry, void> {
  for await (const { entries } of read(bytes, rules)) yield* entries;
}

/** Reads the blocks of one file in order. */
interface BlockReader {
  /** @param line the physical line on which the block begins */
  read: (block: LineBlock, line: number) => Promise<UpdateEntry[]> | UpdateEntry[];
  /** Whether the rest of the file cannot be read. */
  hasStopped?: () => boolean;
  /** Reads the incomplete rest at the end of the file. */
  end?: () => Promise<UpdateEntry[]>;
}

/** Reads a file block by block. Reading ends at the first line that is not text: the whole file has to be saved anew. */
export async function* readBlocks(
  bytes: AsyncIterable<Uint8Array>,
  { read, hasStopped = () => false, end }: BlockReader,
): AsyncGenerator<UpdateBlock, void> {
  let lines = 0;
  let found = 0;
  for await (const block of lineBlocks(bytes)) {
    const unreadable = unreadableIn(block, lines);
    if (unreadable) return yield unreadable;
    const entries = await read(block, lines + 1);
    lines += lineCount(block);
    found += entries.length;
    yield { entries, lines };
    if (hasStopped()) return;
  }
  const entries = (await end?.()) ?? [];
  yield { entries, lines };
  if (found + entries.length === 0) yield ofFile(lines === 0 ? 'is empty' : 'holds no record to update', lines);
}

const LF = 0x0a;
const NOT_A_TEXT = 'is not a text in UTF-8: save it as UTF-8, a sheet as CSV (UTF-8)';
const ofFile = (sentence: string, lines: number) => ({ entries: [{ line: 0, field: null, sentence }], lines });

/** Finds the first line that is not UTF-8 or has a NUL character, as a block that never reached the disk has. */
function unreadableIn({ bytes }: LineBlock, before: number): UpdateBlock | undefined {
  // The start of a line that is too long may end within a character.
  const isWhole = bytes.length <= LONGEST_LINE || bytes.includes(LF);
  const isGood = (part: Buffer) => !part.includes(0) && (!isWhole || isUtf8(part));
  if (isGood(bytes)) return undefined;
  const all = bytes.toString('latin1').split('\n');
  const place = all.findIndex((text) => !isGood(Buffer.from(text, 'latin1')));
  const hasNul = all[place]?.includes('\0');
  const line = before + place + 1;
  // UTF-16, workbooks, archives and other binary files have such bytes at their start.
  if (line === 1 && hasNul) return ofFile(NOT_A_TEXT, 0);
  const sentence = `${hasNul ? 'has a NUL character' : 'is not UTF-8'}: save the file as UTF-8`;
  return { entries: [{ line, field: null, sentence }], lines: line };
}

/** Reads the lines of a block, which begins at `first`. A blank line is not a record. */
export function readJsonLines(block: LineBlock, first: number, check: RecordCheck): UpdateEntry[] {
  const { bytes, from } = block;
  const entries: UpdateEntry[] = [];
  let at = textStart(block);
  for (let line = first; at < bytes.length; line += 1) {
    const found = bytes.indexOf(LF, at);
    const end = found === -1 ? bytes.length : found;
    if (end - at > LONGEST_LINE) entries.push(tooLongLine(line));
    else for (const entry of readLine(bytes.toString('utf8', at, end), line, from + at, check)) entries.push(entry);
    at = end + 1;
  }
  return entries;
}

function readLine(text: string, line: number, from: number, check: RecordCheck): UpdateEntry[] {
  // Blank lines are common in a file made from a CSV or from failed lines.
  if (text.trim() === '') return [];
  const record = jsonOrUndefined(text);
  return isRecord(record)
    ? check({ line, from, record, text })
    : [{ line, field: null, sentence: notARecord(text, record) }];
}

function notARecord(text: string, value: unknown): string {
  if (value !== undefined) return 'is not a JSON object';
  if (/^\s*\[/.test(text)) return 'begins a JSON array: write one object on each line, no brackets or commas around';
  return /^\s*\{/.test(text) ? 'is not JSON: each line must have one complete object' : 'is not a JSON object';
}

export function tooLongLine(line: number) {
  return { line, field: null, sentence: `is longer than ${LONGEST_LINE} bytes, the most that a line may have` };
}

/** A record before its check. */
interface Unchecked extends Omit<UpdateRecord, 'record'> {
  record: Record<string, unknown>;
  /** The JSON text of the record. */
  text?: string;
}

/** Returns either the record or its problems. */
export type RecordCheck = (record: Unchecked) => UpdateEntry[];

/** Checks records, and refuses an id that occurs twice: two changes to one customer might be applied in any order. */
export function createRecordCheck(rules: LineRules): RecordCheck {
  const lines = new Map<string, number>();
  return ({ line, from, record, text }) => {
    const problems = problemsOf(line, record, rules);
    const hidden = text === undefined || problems.length > 0 ? undefined : hiddenProblem(line, text, record);
    if (hidden) problems.push(hidden);
    if (!hasId(record)) return problems;
    const id = shortened(record.id);
    const first = lines.get(id);
    if (first === undefined) lines.set(id, line);
    else
      problems.unshift({
        line,
        field: 'id',
        sentence: `is the same as on line ${first}: a file changes a customer once`,
      });
    return problems.length > 0 ? problems : [{ line, from, record }];
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

/**
 * The check for lines that were validated before. Another release may have used other rules, so this check needs only
 * an id.
 */
export const FOUND_VALID: RecordCheck = ({ line, from, record }) => [
  hasId(record) ? { line, from, record } : { line, field: 'id', sentence: 'is no UUID' },
];

export type UpdateFormat = 'csv' | 'jsonl';

const EXTENSIONS: Record<string, UpdateFormat> = { '.csv': 'csv', '.jsonl': 'jsonl', '.ndjson': 'jsonl' };

/** The format by the extension of a file name, or the problem with the name. */
export function formatOf(name: string): UpdateFormat | Problem {
  const extension = /\.[^.\\/]*$/.exec(name)?.[0].toLowerCase() ?? '';
  const format = Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
  if (format) return format;
  const extensions = Object.keys(EXTENSIONS).join(', ');
  return { line: 0, field: null, sentence: `must have a name that ends in one of ${extensions}` };
}
