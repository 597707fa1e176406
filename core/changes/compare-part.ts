import { comparedOf, equalRows, keyOf, type RowRecord, recordsOf } from './row-record.ts';

/** As Delta's change data feed names them (https://docs.delta.io/latest/delta-change-data-feed.html). */
export type ChangeType = 'insert' | 'delete' | 'update_preimage' | 'update_postimage';

export interface Change {
  type: ChangeType;
  row: RowRecord;
}

/** What was compared. */
export interface Counts {
  /** Keys of the table before, and those of them that are gone; a row without a key counts as one. */
  keys: number;
  gone: number;
  /** Rows of both tables without a key, or whose key stands more than once in one of them: they have no updates. */
  unmatched: number;
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
export function* changesOf(before: Buffer, after: Buffer, counts: Counts): Generator<Change> {
  const repeated = new Set<string>();
  const old = sideOf(before, repeated);
  const recent = sideOf(after, repeated);
  counts.keys += old.first.size + old.keyless.length;
  yield* changesOfKeys(old, recent, repeated, counts);
  yield* changesOfBags(old, recent, repeated, counts);
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
      if (equalRows(row, other)) continue;
      yield { type: 'update_preimage', row };
      yield { type: 'update_postimage', row: other };
    }
  }
  for (const [key, at] of recent.first) {
    if (!old.first.has(key) && !repeated.has(key)) yield { type: 'insert', row: { bytes: recent.bytes, at } };
  }
}

function* changesOfBags(old: Side, recent: Side, repeated: Set<string>, counts: Counts): Generator<Change> {
  const keyless = [new Bag(old.bytes, old.keyless), new Bag(recent.bytes, recent.keyless)] as const;
  const ofKeys = [new Bag(old.bytes, rowsOf(old, repeated)), new Bag(recent.bytes, rowsOf(recent, repeated))] as const;
  for (const [before, after] of [keyless, ofKeys]) {
    counts.unmatched += before.size + after.size;
    const deleted = before.without(after);
    if (before === keyless[0]) counts.gone += deleted.length;
    for (const at of deleted) yield { type: 'delete', row: { bytes: old.bytes, at } };
    for (const at of after.without(before)) yield { type: 'insert', row: { bytes: recent.bytes, at } };
  }
}

function rowsOf({ bytes }: Side, keys: Set<string>): number[] {
  if (keys.size === 0) return [];
  return [...recordsOf(bytes)].filter((at) => keys.has(keyOf(bytes, at) ?? ''));
}

/** Rows by all that is compared of them; equal ones are counted. */
class Bag {
  readonly #places = new Map<string, number[]>();
  readonly size: number;

  constructor(bytes: Buffer, rows: number[]) {
    this.size = rows.length;
    for (const at of rows) {
      const content = comparedOf(bytes, at);
      const places = this.#places.get(content);
      if (places) places.push(at);
      else this.#places.set(content, [at]);
    }
  }

  /** Those rows that the other has not, or has fewer of. */
  without(other: Bag): number[] {
    return [...this.#places].flatMap(([content, places]) => places.slice(other.#places.get(content)?.length ?? 0));
  }
}
