import { compareRows, keyOf, type RowRecord, recordsOf } from './row-record.ts';

/** As Delta's change data feed names them (https://docs.delta.io/latest/delta-change-data-feed.html). */
export type ChangeType = 'insert' | 'delete' | 'update_preimage' | 'update_postimage';

export interface Change {
  type: ChangeType;
  row: RowRecord;
}

/** What was compared. */
export interface Counts {
  /** Keys of the table before, and those of them that are gone. Of rows without a key, as many are gone as there are fewer of them. */
  keys: number;
  gone: number;
  /** Rows of both tables without a key, or whose key stands more than once in one of them: they have no updates. */
  unmatched: number;
}

/** What parts are compared with besides. */
export interface Tally {
  /** What was compared is added to them, but for rows without a key that are gone. */
  counts: Counts;
  /** Rows without a key. An edited one is in another part than it was: only all parts together show how many are gone. */
  keyless: { before: number; after: number };
  /** Called now and then; what it throws ends the comparison. */
  onProgress: () => void;
}

interface Side {
  bytes: Buffer;
  /** The first row of each key. */
  first: Map<string, number>;
  /** Rows without a key. */
  keyless: number[];
}

/**
 * The changes between the rows of a part before and after, which have the same keys in no other part. Rows without a key, and those of a key
 * that stands more than once on either side, are compared as a bag of rows.
 */
export function* changesOf(before: Buffer, after: Buffer, { counts, keyless, onProgress }: Tally): Generator<Change> {
  const repeated = new Set<string>();
  const old = sideOf(before, repeated);
  const recent = sideOf(after, repeated);
  counts.keys += old.first.size + old.keyless.length;
  keyless.before += old.keyless.length;
  keyless.after += recent.keyless.length;
  yield* changesOfKeys(old, recent, repeated, counts);
  for (const rowsIn of [(side: Side) => side.keyless, (side: Side) => rowsOf(side, repeated)]) {
    const bags = [sortedBag(old, rowsIn(old), onProgress), sortedBag(recent, rowsIn(recent), onProgress)] as const;
    counts.unmatched += bags[0].rows.length + bags[1].rows.length;
    yield* changesOfBags(...bags);
  }
}

function sideOf(bytes: Buffer, repeated: Set<string>): Side {
  const first = new Map<string, number>();
  const keyless: number[] = [];
  for (const at of recordsOf(bytes)) {
    const key = keyOf(bytes, at);
    if (key === undefined) keyless.push(at);
    else if (first.has(key)) repeated.add(key);
    else first.set(key, at);
  }
  return { bytes, first, keyless };
}

function* changesOfKeys(old: Side, recent: Side, repeated: Set<string>, counts: Counts): Generator<Change> {
  for (const [key, at] of old.first) {
    const now = recent.first.get(key);
    if (now === undefined) counts.gone += 1;
    if (repeated.has(key)) continue;
    const row = { bytes: old.bytes, at };
    if (now === undefined) yield { type: 'delete', row };
    else {
      const other = { bytes: recent.bytes, at: now };
      if (compareRows(old.bytes, at, recent.bytes, now) === 0) continue;
      yield { type: 'update_preimage', row };
      yield { type: 'update_postimage', row: other };
    }
  }
  for (const [key, at] of recent.first) {
    if (!old.first.has(key) && !repeated.has(key)) yield { type: 'insert', row: { bytes: recent.bytes, at } };
  }
}

function rowsOf({ bytes }: Side, keys: Set<string>): number[] {
  const rows: number[] = [];
  if (keys.size === 0) return rows;
  for (const at of recordsOf(bytes)) if (keys.has(keyOf(bytes, at) ?? '')) rows.push(at);
  return rows;
}

/** Rows in the order of all that is compared of them. A million of them may have one key, so they are places and no copies. */
interface Bag {
  bytes: Buffer;
  rows: Uint32Array;
}

const COMPARED_AT_ONCE = 1 << 18;

function sortedBag({ bytes }: Side, rows: number[], onProgress: () => void): Bag {
  let compared = 0;
  const inOrder = (one: number, other: number) => {
    compared += 1;
    if (compared % COMPARED_AT_ONCE === 0) onProgress();
    return compareRows(bytes, one, bytes, other);
  };
  return { bytes, rows: Uint32Array.from(rows).sort(inOrder) };
}

function* changesOfBags(before: Bag, after: Bag): Generator<Change> {
  for (const row of rowsWithout(before, after)) yield { type: 'delete', row };
  for (const row of rowsWithout(after, before)) yield { type: 'insert', row };
}

/** Rows that the other bag has not, or has fewer of. */
function* rowsWithout({ bytes, rows }: Bag, other: Bag): Generator<RowRecord> {
  let place = 0;
  /** Below 0 where the next row of the other bag comes first. */
  const compared = (at: number) => {
    const next = other.rows[place];
    return next === undefined ? 1 : compareRows(other.bytes, next, bytes, at);
  };
  for (const at of rows) {
    while (compared(at) < 0) place += 1;
    if (compared(at) === 0) place += 1;
    else yield { bytes, at };
  }
}
