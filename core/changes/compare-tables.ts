import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Change, type Counts, changesOf, type Tally } from './compare-part.ts';
import { TooLarge } from './feed-error.ts';
import { Partitions } from './partitions.ts';
import { RowBytes } from './row-code.ts';
import { type RowPlan, writeRecords } from './row-record.ts';
import type { TableReader } from './table-reader.ts';

/**
 * Small tables need fewer parts. What rows take is known only when they are there: values that a file has once are in every row
 * here. So few rows are enough for a part of their own, and whatever fits on the disk fits into the memory part by part.
 */
const ROWS_OF_PART = 16;
const MOST_PARTS = 256;

/** Tables that have the same columns, and how they are compared. */
export interface Comparison {
  before: TableReader;
  after: TableReader;
  plan: RowPlan;
  /** The most that the rows of both tables may take on the disk. */
  diskBytes: number;
  /** Called now and then; what it throws ends the comparison. */
  onProgress: () => void;
}

/**
 * Compares two tables row by row; the changes come part by part, in an order that hangs on the tables alone. Rows are put on the
 * disk in parts, by the hash of their keys, and compared part by part: by their keys and values, never by a hash.
 * @param counts what was compared is added to them
 * @throws FeedError where too many rows have one key; TooLarge where they are too many for the disk; what reading the tables and `onProgress` throw
 */
export async function* compareTables(
  { before, after, plan, diskBytes, onProgress }: Comparison,
  counts: Counts,
): AsyncGenerator<Iterable<Change>> {
  const dir = await mkdtemp(join(tmpdir(), 'changes-'));
  const count = Math.min(MOST_PARTS, 1 + Math.floor(Math.max(before.rows, after.rows) / ROWS_OF_PART));
  const claim = claimOn(diskBytes);
  try {
    const old = await spread(before, new Partitions(join(dir, 'before'), count, claim), plan, onProgress);
    const recent = await spread(after, new Partitions(join(dir, 'after'), count, claim), plan, onProgress);
    const tally: Tally = { counts, keyless: { before: 0, after: 0 }, onProgress };
    for (let part = 0; part < count; part += 1) {
      onProgress();
      yield changesOf(old.take(part), recent.take(part), tally);
    }
    counts.gone += Math.max(0, tally.keyless.before - tally.keyless.after);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Counts the bytes that are put on the disk, before they are; it throws TooLarge where there are too many. */
function claimOn(diskBytes: number): (bytes: number) => void {
  let taken = 0;
  return (bytes) => {
    taken += bytes;
    if (taken <= diskBytes) return;
    const left = Math.floor(diskBytes / 1e6).toLocaleString('en');
    const what = `The rows of both tables take more than the ${left} MB that are left for them on the function's disk`;
    throw new TooLarge(`${what}. Without some columns they take less: \`tables.except\` leaves them out.`);
  };
}

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
