import type { DecodedArray } from 'hyparquet';
import type { Value } from '../table/column-types.ts';
import { type RowBytes, readValues, type Stored } from './row-code.ts';
import type { RowGroupColumns, TableColumn } from './table-reader.ts';

/**
 * A row on the disk: its length, where its key ends, where what is compared ends, and its values: those of the key, those that are
 * compared besides, those that are ignored. A row without a key says 0 in place of the end of the key.
 */
const LENGTH = 4;
const HEAD = 3 * LENGTH;

/** A row, by the bytes that it is in. */
export interface RowRecord {
  bytes: Buffer;
  at: number;
}

/** The columns of a table as a comparison needs them. */
export interface RowPlan {
  columns: readonly TableColumn[];
  /** Places of columns in the table, in the order in which rows are written. */
  order: number[];
  keys: number;
  compared: number;
}

/** @throws RangeError where the table has no such column */
export function rowPlan(columns: readonly TableColumn[], key: readonly string[], ignore: readonly string[]): RowPlan {
  const placeOf = (name: string) => {
    const place = columns.findIndex((column) => column.name === name);
    if (place < 0) throw new RangeError(`The table has no column "${name}".`);
    return place;
  };
  const keys = [...new Set(key.map(placeOf))];
  const ignored = [...new Set(ignore.map(placeOf))].filter((place) => !keys.includes(place));
  const rest = columns.map((_, place) => place).filter((place) => !keys.includes(place) && !ignored.includes(place));
  return { columns, order: [...keys, ...rest, ...ignored], keys: keys.length, compared: keys.length + rest.length };
}

/** Writes the rows of a row group. @param take is given the hash of what a row is found by, and its record, which it has to copy */
export function writeRecords(
  { rows, columns }: RowGroupColumns,
  { order, keys, compared }: RowPlan,
  row: RowBytes,
  take: (hash: number, record: Buffer) => void,
): void {
  const values = order.map((place) => columns[place] as DecodedArray);
  for (let place = 0; place < rows; place += 1) {
    row.clear();
    for (let head = 0; head < HEAD; head += LENGTH) row.head(0);
    let keyed = true;
    let column = 0;
    for (; column < keys; column += 1) keyed = row.value((values[column] as DecodedArray)[place] as Stored) && keyed;
    const keyEnd = row.length;
    for (; column < compared; column += 1) row.value((values[column] as DecodedArray)[place] as Stored);
    const comparedEnd = row.length;
    for (; column < values.length; column += 1) row.value((values[column] as DecodedArray)[place] as Stored);
    row.setHead(0, row.length);
    row.setHead(LENGTH, keyed ? keyEnd : 0);
    row.setHead(2 * LENGTH, comparedEnd);
    take(hashOf(row.view, HEAD, keyed ? keyEnd : comparedEnd), row.view.subarray(0, row.length));
  }
}

/** FNV-1a: it finds candidates, and decides nothing. */
function hashOf(bytes: Buffer, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  // Its lowest bits hang on the lowest bits of the bytes alone.
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Where the rows of a part begin. */
export function* recordsOf(bytes: Buffer): Generator<number> {
  for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at)) yield at;
}

/** What the row is known by; `undefined` where it has no key. */
export function keyOf(bytes: Buffer, at: number): string | undefined {
  const keyEnd = bytes.readUInt32LE(at + LENGTH);
  return keyEnd === 0 ? undefined : bytes.toString('latin1', at + HEAD, at + keyEnd);
}

/** Orders rows by all that is compared of them: 0 for equal ones. */
export function compareRows(bytes: Buffer, at: number, others: Buffer, other: number): number {
  const end = at + bytes.readUInt32LE(at + 2 * LENGTH);
  return bytes.compare(others, other + HEAD, other + others.readUInt32LE(other + 2 * LENGTH), at + HEAD, end);
}

/** The values of a row, in the order of the table's columns. */
export function valuesOf({ bytes, at }: RowRecord, { columns, order }: RowPlan): Value[] {
  const written: Value[] = [];
  readValues(
    bytes,
    at + HEAD,
    order.map((place) => columns[place] as TableColumn),
    written,
  );
  const values: Value[] = new Array(written.length);
  for (const [place, value] of written.entries()) values[order[place] as number] = value;
  return values;
}
