import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parquetMetadata, parquetScan, type SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { EngineLimits } from '../../../core/changes/engine.ts';
import { type FeedInput, writeFeed } from '../../../core/changes/write-feed.ts';

type Given = { before: string | null; after: string } & Partial<Pick<FeedInput, 'key' | 'ignore'>>;

/** Writes the feed between two tables. */
export async function putFeed(feed: string, { before, after, ...input }: Given, limits: Partial<EngineLimits> = {}) {
  const kind = before === null ? ('snapshot' as const) : ('changes' as const);
  const from = before === null ? null : { run: 'leads-1', date: '2026-11-21' };
  const place = { sequence: 7, kind, from, to: { run: 'leads-2', date: '2026-11-22' } };
  const all = { memoryMB: 1769, folder: dirname(feed), diskBytes: 1e9, onProgress: () => undefined, ...limits };
  const written = await writeFeed({ before, after, feed, key: ['id'], ignore: [], place, ...input }, all);
  return { ...written, kind };
}

/** A row of texts by column name; `null` is an empty value. */
export type Texts = Record<string, string | null>;

/**
 * The rows of a Parquet file, read by hyparquet, which is independent of DuckDB, the writer of the feeds. Values stay
 * as stored: the library would round decimals and 64-bit numbers.
 */
export async function rowsIn(path: string): Promise<Texts[]> {
  const bytes = readFileSync(path);
  const file = {
    byteLength: bytes.length,
    slice: (from: number, to = bytes.length) => new Uint8Array(bytes.subarray(from, to)).buffer,
  };
  const metadata = parquetMetadata(file.slice(0));
  const [root, ...columns] = metadata.schema;
  const stored = columns.map(({ name, type, repetition_type }): SchemaElement => ({ name, type, repetition_type }));
  const schema = [root as SchemaElement, ...stored];
  const scan = await parquetScan({ file, metadata: { ...metadata, schema }, utf8: false, useOffsetIndex: false });
  const rows: Texts[] = [];
  for (const { rowStart, rowEnd } of scan.ranges) {
    const some: Texts[] = Array.from({ length: rowEnd - rowStart }, () => ({}));
    for (const column of columns) {
      const values = await scan.readColumn({ column: column.name, rowStart, rowEnd });
      for (const [at, row] of some.entries()) row[column.name] = textOf(values[at], column);
    }
    rows.push(...some);
  }
  return rows;
}

/** Equal values have equal texts, however the file stores them. */
function textOf(value: unknown, { converted_type: type }: SchemaElement): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (type === 'TIMESTAMP_MILLIS') return String(BigInt(value as bigint) * 1000n);
  // 0 and -0 are equal.
  return typeof value === 'number' ? String(value + 0) : String(value);
}

/** Rows of `one` that `other` lacks, with repetitions, without these columns. */
function without(one: readonly Texts[], other: readonly Texts[], ignored: readonly string[] = []): string[] {
  const left = new Map<string, number>();
  for (const row of other) left.set(keyOf(row, ignored), (left.get(keyOf(row, ignored)) ?? 0) + 1);
  return one
    .map((row) => keyOf(row, ignored))
    .filter((row) => {
      const count = left.get(row) ?? 0;
      left.set(row, count - 1);
      return count <= 0;
    })
    .sort();
}

function keyOf(row: Texts, ignored: readonly string[]): string {
  const names = Object.keys(row).filter((name) => !name.startsWith('_') && !ignored.includes(name));
  return JSON.stringify(names.sort().map((name) => row[name]));
}

interface Judged {
  taken: string[];
  gone: string[];
  added: string[];
  come: string[];
  updates: { before: Texts[]; after: Texts[] };
}

/** The rows that a feed removes and adds, and the rows that left the first table and entered the second one. */
export async function judged(
  paths: { before: string; after: string; feed: string },
  ignored: readonly string[] = [],
): Promise<Judged> {
  const [before, after, feed] = await Promise.all([rowsIn(paths.before), rowsIn(paths.after), rowsIn(paths.feed)]);
  const rowsOf = (...types: string[]) => feed.filter(({ _change_type: type }) => types.includes(String(type)));
  return {
    taken: without(rowsOf('delete', 'update_preimage'), [], ignored),
    gone: without(before, after, ignored),
    added: without(rowsOf('insert', 'update_postimage'), [], ignored),
    come: without(after, before, ignored),
    updates: { before: rowsOf('update_preimage'), after: rowsOf('update_postimage') },
  };
}

/** Writes a table of texts to a file. */
export function putTexts(path: string, names: readonly string[], rows: readonly (string | null)[][], group = 1000) {
  const columnData = names.map((name, at) => ({
    ...{ name, type: 'STRING' as const, nullable: true },
    data: rows.map((row) => row[at] ?? null),
  }));
  writeFileSync(path, Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: group })));
}
