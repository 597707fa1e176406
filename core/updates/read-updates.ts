import { isUtf8 } from 'node:buffer';
import { isRecord, jsonOrUndefined } from '../json.ts';
import { type LineBlock, LONGEST_LINE, lineBlocks, linesIn, nextLine } from './line-blocks.ts';
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

/** Reads the blocks of one file, for one of the formats. It may end before the last block. */
export type UpdateReader = (blocks: AsyncIterable<LineBlock>, check: RecordCheck) => AsyncIterable<UpdateEntry[]>;

/** The reader of JSON Lines. The reader of CSV is in `read-csv.ts`; only the command uses it. */
export const JSONL: UpdateReader = async function* (blocks, check) {
  for await (const block of blocks) yield readJsonLines(block, check);
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
  rules = STRICT,
  counted = { lines: 0 },
): AsyncGenerator<UpdateEntry, void> {
  const unreadable: Problem[] = [];
  const readable = async function* () {
    for await (const block of lineBlocks(bytes)) {
      unreadable.push(...unreadableIn(block));
      if (unreadable.length > 0) return;
      counted.lines = nextLine(block) - 1;
      yield block;
    }
  };
  let isEmpty = true;
  for await (const entries of read(readable(), createRecordCheck(rules))) {
    if (unreadable.length > 0) break;
    if (entries.length > 0) isEmpty = false;
    yield* entries;
  }
  if (unreadable.length > 0) yield* unreadable;
  else if (isEmpty) yield { ...OF_FILE, sentence: counted.lines === 0 ? 'is empty' : 'holds no record to update' };
}

const LF = 0x0a;
const OF_FILE = { line: 0, field: null };
const NOT_A_TEXT = 'is not a text in UTF-8: save it as UTF-8, a sheet as CSV (UTF-8)';

/** The first line that is not UTF-8 or has a NUL character, as a block that never reached the disk has. */
function unreadableIn(block: LineBlock): Problem[] {
  // The start of a line that is too long may end within a character.
  const isCut = block.bytes.length > LONGEST_LINE && !block.bytes.includes(LF);
  const isGood = ({ bytes }: LineBlock) => !bytes.includes(0) && (isCut || isUtf8(bytes));
  const first = isGood(block) ? undefined : [...linesIn(block)].find((line) => !isGood(line));
  if (!first) return [];
  const { line, bytes } = first;
  const hasNul = bytes.includes(0);
  // UTF-16, workbooks, archives and other binary files have such bytes at their start.
  if (line === 1 && hasNul) return [{ ...OF_FILE, sentence: NOT_A_TEXT }];
  const sentence = `${hasNul ? 'has a NUL character' : 'is not UTF-8'}: save the file as UTF-8`;
  return [{ line, field: null, sentence }];
}

/** Reads the lines of a block. A blank line is not a record. */
export function readJsonLines(block: LineBlock, check: RecordCheck): UpdateEntry[] {
  const entries: UpdateEntry[] = [];
  for (const { bytes, line, from } of linesIn(block)) {
    if (bytes.length > LONGEST_LINE) entries.push(tooLongLine(line));
    else entries.push(...readLine(bytes.toString(), line, from, check));
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
