import { type BatchStore, keysOf } from '../../core/batch/batch-store.ts';
import { latestResults } from '../../core/batch/failed-lines.ts';
import { resumedBy } from './resumed-name.ts';
import { refused } from './source.ts';

/** @throws CommandError (exit code 2) when there is no such batch */
export async function* inputOf(store: BatchStore, batch: string): AsyncGenerator<Uint8Array> {
  const object = await store.stream(keysOf(batch).input);
  if (!object) throw refused(`There is no batch ${batch} in the bucket.`);
  yield* object.chunks;
}

/** All that is known of the lines of a batch, in their order: the result, or else the parts of it that were written. */
export async function* resultsOf(store: BatchStore, batch: string): AsyncGenerator<Uint8Array> {
  const result = await store.stream(keysOf(batch).result);
  if (result) return yield* result.chunks;
  for (const { key } of await store.list(keysOf(batch).results)) {
    const part = key.endsWith('.jsonl') ? await store.stream(key) : undefined;
    if (part) yield* part.chunks;
  }
}

/** All that is known of the lines of a batch by now: also what the batches that resumed it made of them. */
export async function* latestResultsOf(store: BatchStore, batch: string): AsyncGenerator<Uint8Array> {
  const later = await resumedBy(store, batch);
  const own = resultsOf(store, batch);
  yield* later === undefined ? own : latestResults(own, latestResultsOf(store, later));
}
