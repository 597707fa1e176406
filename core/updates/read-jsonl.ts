import { isUtf8 } from 'node:buffer';
import { jsonOrUndefined } from '../json.ts';
import { countKeys } from './json-keys.ts';
import { ROUNDED, roundedField } from './kept-digits.ts';
import { type LineBlock, LONGEST_LINE, lineBlocks } from './line-blocks.ts';
import { shownName } from './problems.ts';
import type { UpdateBlock, UpdateReader } from './read-updates.ts';
import { createRecordCheck, FOUND_VALID, type RecordCheck, type UpdateEntry } from './record-check.ts';
import { STRICT } from './update-line.ts';

const LF = 0x0a;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Where the bytes begin in their file. */
const BEGINNING = { line: 1, byte: 0 };

/**
 * Reads JSON Lines. A line of blanks is no record. Never throws for the content of the file.
 * @param bytes whole lines, the file's or a chunk's
 */
export async function* readJsonl(
  bytes: AsyncIterable<Uint8Array>,
  start = BEGINNING,
  check = createRecordCheck(STRICT),
): AsyncGenerator<UpdateBlock> {
  let { line } = start;
  for await (const block of lineBlocks(bytes)) {
    const entries: UpdateEntry[] = [];
    line = readBlock({ ...block, from: block.from + start.byte }, line, check, entries);
    yield { entries, lines: line - 1 };
  }
}

/** The reader of JSON Lines for `readUpdates`. */
export const JSONL: UpdateReader = {
  format: 'jsonl',
  read: (bytes, rules) => readJsonl(bytes, BEGINNING, createRecordCheck(rules)),
};

/** The reader for lines of a batch that were found valid. */
export const VALIDATED_JSONL: UpdateReader = {
  format: 'jsonl',
  read: (bytes) => readJsonl(bytes, BEGINNING, FOUND_VALID),
};

/** @returns the number of the line behind the block. */
function readBlock({ bytes, from, tooLong }: LineBlock, first: number, check: RecordCheck, to: UpdateEntry[]): number {
  if (tooLong) {
    to.push(tooLongLine(first));
    return first + 1;
  }
  const valid = isUtf8(bytes);
  let line = first;
  let at = from === 0 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
  while (at < bytes.length) {
    const found = bytes.indexOf(LF, at);
    const end = found === -1 ? bytes.length : found;
    if (end - at > LONGEST_LINE) to.push(tooLongLine(line));
    else if (!valid && !isUtf8(bytes.subarray(at, end))) to.push(notUtf8(line));
    else readLine(bytes.toString('utf8', at, end), { line, from: from + at }, check, to);
    at = end + 1;
    line += 1;
  }
  return line;
}

function readLine(
  text: string,
  { line, from }: { line: number; from: number },
  check: RecordCheck,
  to: UpdateEntry[],
): void {
  // A file made from a CSV, or of the failed lines of another, has many.
  if (text.trim() === '') return;
  const record = jsonOrUndefined(text);
  if (record === undefined) {
    to.push({ line, field: null, sentence: notJson(text) });
  } else if (!isObject(record)) {
    to.push({ line, field: null, sentence: 'is not a JSON object' });
  } else if (countKeys(text) !== keysOf(record)) {
    to.push({ line, field: null, sentence: 'gives a field twice' });
  } else {
    const rounded = roundedField(text);
    if (rounded !== undefined) to.push({ line, field: shownName(rounded), sentence: ROUNDED });
    else check(line, from, record, to);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Counts keys without recursion: a line may be a megabyte of brackets. */
function keysOf(record: object): number {
  let keys = 0;
  const open: object[] = [record];
  for (let part = open.pop(); part; part = open.pop()) {
    const values = Object.values(part);
    if (!Array.isArray(part)) keys += values.length;
    for (const value of values) if (typeof value === 'object' && value !== null) open.push(value);
  }
  return keys;
}

function notJson(text: string): string {
  if (/^\s*\[/.test(text)) return 'begins a JSON array: write one object on each line, no brackets or commas around';
  return /^\s*\{/.test(text) ? 'is not JSON: one whole object on each line is due' : 'is not a JSON object';
}

export function tooLongLine(line: number) {
  return { line, field: null, sentence: `is longer than ${LONGEST_LINE} bytes, the most that a line may have` };
}

export function notUtf8(line: number) {
  return { line, field: null, sentence: 'is not UTF-8: save the file as UTF-8' };
}
