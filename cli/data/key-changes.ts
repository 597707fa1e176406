import { failed } from './find.ts';

/** The most keys that are kept in memory: as many UUIDs take 420 MB. */
const MOST_KEYS = 2_000_000;

const BEFORE = 1;
const AFTER = 2;

/** How the keys of two files differ. */
export interface KeyChanges {
  added: string[];
  removed: string[];
  /** Keys that both files have. */
  kept: number;
  /** Records whose key an earlier record of the same file has. */
  repeated: { before: number; after: number };
}

/**
 * Compares the keys of two files in one pass over each.
 * @param most how many different keys are compared
 * @throws CommandError (exit code 1) where there are more
 */
export async function keyChanges(
  before: AsyncIterable<string>,
  after: AsyncIterable<string>,
  most = MOST_KEYS,
): Promise<KeyChanges> {
  const places = new Map<string, number>();
  const mark = async (keys: AsyncIterable<string>, place: number) => {
    let repeated = 0;
    for await (const key of keys) {
      const known = places.get(key) ?? 0;
      if ((known & place) !== 0) repeated += 1;
      else places.set(key, known | place);
      if (places.size > most) {
        throw failed(
          `The files have more than ${most.toLocaleString('en-US')} different keys: compare them with DuckDB.`,
        );
      }
    }
    return repeated;
  };
  const repeated = { before: await mark(before, BEFORE), after: await mark(after, AFTER) };
  const removed: string[] = [];
  const added: string[] = [];
  for (const [key, marks] of places) {
    if (marks === BEFORE) removed.push(key);
    else if (marks === AFTER) added.push(key);
  }
  return { added, removed, kept: places.size - removed.length - added.length, repeated };
}
