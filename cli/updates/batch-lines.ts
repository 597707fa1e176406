import { keysOf } from '../../core/batch/batch-keys.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { latestResults } from '../../core/batch/latest-results.ts';
import type { UpdateFormat } from '../../core/updates/file-format.ts';
import { resumedBy } from './resumed-name.ts';
import { refused } from './source.ts';

/** The name of what the input of a batch says about the file that a person sent. */
export const SENT_AS = 'sent-as';

/** The format in which a batch was sent; `undefined` where it was stored by a release that did not keep it. */
export async function sentFormat(store: BatchStore, batch: string): Promise<UpdateFormat | undefined> {
  const object = await store.stream(keysOf(batch).input, { to: 1 });
  for await (const _ of object?.chunks ?? []);
  const format = object?.metadata?.[SENT_AS];
  return format === 'csv' || format === 'jsonl' ? format : undefined;
}

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
