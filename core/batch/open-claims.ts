import { CLAIM, keysOf } from './batch-keys.ts';
import type { BatchStore } from './batch-store.ts';
import { doubtIn } from './chunk-parts.ts';
import { DOUBT } from './result-line.ts';

/** A part without results has a single line of some 100 bytes. */
const LARGEST_DOUBT_BYTES = 256;
/** Parts that are read at the same time. */
const AT_ONCE = 10;

/**
 * Counts the parts that a function may still be sending: claimed after `since`, and without results, or closed by another function
 * (`chunk-results.ts`). A finished batch costs a listing only.
 */
export async function openClaims(
  store: Pick<BatchStore, 'list' | 'read'>,
  batch: string,
  since: Date,
): Promise<number> {
  const objects = await store.list(keysOf(batch).results);
  const parts = new Map(objects.map(({ key, bytes }) => [key, bytes]));
  const claimed = objects.filter(({ key, at }) => key.endsWith(CLAIM) && (at === undefined || at >= since));
  const keys = claimed.map(({ key }) => key.replace(CLAIM, '.jsonl'));
  let open = keys.filter((key) => !parts.has(key)).length;
  const doubtful = keys.filter((key) => (parts.get(key) ?? Number.POSITIVE_INFINITY) <= LARGEST_DOUBT_BYTES);
  for (let from = 0; from < doubtful.length; from += AT_ONCE) {
    const texts = await Promise.all(doubtful.slice(from, from + AT_ONCE).map((key) => store.read(key)));
    open += texts.filter((object) => closedByAnother(object?.text ?? '')).length;
  }
  return open;
}

/** The function that closes another's claim knows no tries; one that stores a doubt about its own line does. */
function closedByAnother(part: string): boolean {
  return part.startsWith(DOUBT) && doubtIn(part)?.tries === null;
}
