import * as z from 'zod';
import { RunError } from '../errors.ts';
import { parseJson } from '../json.ts';
import { linesOf } from './line-blocks.ts';

const recordSchema = z.record(z.string(), z.unknown());

/**
 * Turns lines of a batch into CSV as `read-csv.ts` reads it, with a column for each field that one of them has.
 * @param open gives the lines; they are read twice, first for the columns
 * @throws RunError `FileRejected` for what a cell cannot hold: an empty text, and an object
 */
export async function* jsonlToCsv(open: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const names = new Set(['id']);
  for await (const { record } of recordsIn(open())) for (const name of Object.keys(record)) names.add(name);
  const columns = [...names];
  yield Buffer.from(`${columns.join(',')}\n`);
  for await (const { line, record } of recordsIn(open())) {
    yield Buffer.from(`${columns.map((name) => cellOf(record[name], name, line)).join(',')}\n`);
  }
}

async function* recordsIn(lines: AsyncIterable<Uint8Array>) {
  let line = 0;
  for await (const text of linesOf(lines)) {
    line += 1;
    const record = parseJson(recordSchema, text);
    if (!record) throw new RunError('FileRejected', `Line ${line} of the lines to write is no record.`);
    yield { line, record };
  }
}

function cellOf(value: unknown, name: string, line: number): string {
  if (value === undefined) return '';
  if (value === null) return '\\N';
  if (value === '' || typeof value === 'object') {
    const what = value === '' ? 'an empty text' : 'an object';
    throw new RunError('FileRejected', `CSV cannot hold ${what}, as ${name} of record ${line} is: name a .jsonl file.`);
  }
  const text = String(value);
  return text === '\\N' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
