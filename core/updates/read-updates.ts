import { isUtf8 } from 'node:buffer';
import { isRecord, jsonOrUndefined, repeatedKey } from '../json.ts';
import { type Line, LONGEST_LINE, linesOf } from './lines.ts';
import {
  hasId,
  type LineRules,
  type Problem,
  problemsOf,
  ROUNDED,
  roundedField,
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

/** Reads the lines of one file, for one of the formats. It may end before the last line. */
export type UpdateReader = (pieces: AsyncIterable<Line[]>, check: RecordCheck) => AsyncIterable<UpdateEntry[]>;

/** The reader of JSON Lines. The reader of CSV is in `read-csv.ts`; only the command uses it. */
export const JSONL: UpdateReader = async function* (pieces, check) {
  for await (const lines of pieces) yield lines.flatMap((line) => readLine(line, check));
};

/**
 * Reads a file of customer updates of any size: valid records and problems, in line order. It needs about 100 bytes of
 * memory per record, for ids, to find duplicates. It never throws for the content of the file. Reading ends at the
 * first line that is not text: the whole file has to be saved anew.
 * @param counted `lines`: number of physical lines so far
 */
export async function* readUpdates(
  read: UpdateReader,
  bytes: AsyncIterable<Uint8Array>,
  rules: LineRules = {},
  counted = { lines: 0 },
): AsyncGenerator<UpdateEntry, void> {
  let unreadable: Line | undefined;
  const readable = async function* () {
    for await (const lines of linesOf(bytes)) {
      const bad = lines.find((line) => !isText(line));
      const good = bad ? lines.slice(0, lines.indexOf(bad)) : lines;
      counted.lines = good.at(-1)?.line ?? counted.lines;
      yield good;
      unreadable = bad;
      if (bad) return;
    }
  };
  let isEmpty = true;
  for await (const entries of read(readable(), createRecordCheck(rules))) {
    if (unreadable) break;
    if (entries.length > 0) isEmpty = false;
    yield* entries;
  }
  if (unreadable) yield notText(unreadable);
  else if (isEmpty) yield { ...OF_FILE, sentence: counted.lines === 0 ? 'is empty' : 'holds no record to update' };
}

const OF_FILE = { line: 0, field: null };
const NOT_A_TEXT = 'is not a text in UTF-8: save it as UTF-8, a sheet as CSV (UTF-8)';

/** Whether a line is UTF-8 without NUL characters. A block that never reached the disk has NUL characters. */
function isText({ bytes }: Line): boolean {
  // The start of a line that is too long may end within a character.
  return !bytes.includes(0) && (bytes.length > LONGEST_LINE || isUtf8(bytes));
}

function notText({ line, bytes }: Line): Problem {
  const hasNul = bytes.includes(0);
  // UTF-16, workbooks, archives and other binary files have such bytes at their start.
  if (line === 1 && hasNul) return { ...OF_FILE, sentence: NOT_A_TEXT };
  const sentence = `${hasNul ? 'has a NUL character' : 'is not UTF-8'}: save the file as UTF-8`;
  return { line, field: null, sentence };
}

/** Reads a line of JSON Lines. A blank line is no record: files made from a CSV or from failed lines have them. */
function readLine({ bytes, line, from }: Line, check: RecordCheck): UpdateEntry[] {
  if (bytes.length > LONGEST_LINE) return [tooLongLine(line)];
  const text = bytes.toString();
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
function createRecordCheck(rules: LineRules): RecordCheck {
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
        sentence: `is the same as on line ${first}: a file may change each customer once`,
      });
    return problems.length > 0 ? problems : [{ line, from, record }];
  };
}

/** The 16 bytes of a UUID as 16 characters, without letter case: for a million ids this saves 70 MB. */
function shortened(id: string): string {
  return Buffer.from(id.replaceAll('-', ''), 'hex').toString('latin1');
}

/** Problems that `JSON.parse` hides: an earlier key of the same name, and digits that a number cannot keep. */
function hiddenProblem(line: number, text: string, record: Record<string, unknown>): Problem | undefined {
  if (JSON.stringify(record) === text) return undefined;
  if (repeatedKey(text, record) !== undefined) return { line, field: null, sentence: 'gives a field twice' };
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
