import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Change, type Counts, changesOf, type Tally } from './compare-part.ts';
import { FeedError } from './feed-error.ts';
import { Partitions } from './partitions.ts';
import { RowBytes } from './row-code.ts';
import { type RowPlan, writeRecords } from './row-record.ts';
import type { TableReader } from './table-reader.ts';

/** A table of so many rows, or of such a size, has a part of its own for each of them. */
const ROWS_OF_PART = 20_000;
const BYTES_OF_PART = 512 * 1024;
const MOST_PARTS = 256;
/** Both sides of a part are in memory. The parts of 1 GB have 4 MB each, unless many rows have one key. */
const LARGEST_PART = 128 * 1024 * 1024;

/** Tables that have the same columns, and how they are compared. */
export interface Comparison {
  before: TableReader;
  after: TableReader;
  /** Bytes of the larger file. */
  bytes: number;
  plan: RowPlan;
  /** Called now and then; what it throws ends the comparison. */
  onProgress: () => void;
}

/**
 * Compares two tables row by row; the changes come part by part, in an order that hangs on the tables alone. Rows are put on the
 * disk in parts, by the hash of their keys, and compared part by part: by their keys and values, never by a hash.
 * @param counts what was compared is added to them
 * @throws FeedError where too many rows have one key; what reading the tables and `onProgress` throw
 */
export async function* compareTables(
  { before, after, bytes, plan, onProgress }: Comparison,
  counts: Counts,
): AsyncGenerator<Iterable<Change>> {
  const dir = await mkdtemp(join(tmpdir(), 'changes-'));
  const rows = Math.max(before.rows, after.rows);
  const expected = Math.min(MOST_PARTS, 1 + Math.floor(Math.max(rows / ROWS_OF_PART, bytes / BYTES_OF_PART)));
  const spreadInto = async (count: number) => {
    const old = await spread(before, new Partitions(dir, 'before', count), plan, onProgress);
    const recent = await spread(after, new Partitions(dir, 'after', count), plan, onProgress);
    return { old, recent, count };
  };
  try {
    let parts = await spreadInto(expected);
    // Values that a file has once are in every row here: only the rows show how many parts there have to be.
    if (tooLarge(parts)) parts = await spreadInto(MOST_PARTS);
    if (tooLarge(parts)) throw new FeedError('Too many rows have the same key: `changes.key` has to name others.');
    const tally: Tally = { counts, keyless: { before: 0, after: 0 }, onProgress };
    for (let part = 0; part < parts.count; part += 1) {
      onProgress();
      yield changesOf(parts.old.take(part), parts.recent.take(part), tally);
    }
    counts.gone += Math.max(0, tally.keyless.before - tally.keyless.after);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

const tooLarge = ({ old, recent }: Record<'old' | 'recent', Partitions>) =>
  Math.max(old.largest, recent.largest) > LARGEST_PART;

async function spread(
  table: TableReader,
  parts: Partitions,
  plan: RowPlan,
  onProgress: () => void,
): Promise<Partitions> {
  const row = new RowBytes();
  try {
    for await (const group of table.groups()) {
      onProgress();
      writeRecords(group, plan, row, (hash, record) => parts.add(hash, record));
    }
    parts.finish();
    return parts;
  } finally {
    parts.close();
  }
}
