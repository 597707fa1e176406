import { keysOf } from '../../core/batch/batch-keys.ts';
import type { BatchStore } from '../../core/batch/batch-store.ts';
import { failedLines, idOf, resultsIn } from '../../core/batch/failed-lines.ts';
import type { LineOutcome } from '../../core/batch/result-line.ts';
import { linesOf } from '../../core/updates/line-blocks.ts';
import { SeenIds } from '../../core/updates/seen-ids.ts';
import { inputOf, resultsOf } from './batch-lines.ts';
import { batchesSince } from './later-batches.ts';
import { resumedName } from './resumed-name.ts';
import { refused } from './source.ts';
import { executionOf } from './status.ts';
import type { UpdatesTarget } from './updates-target.ts';

/** The newest batch that has changed a customer since another batch began, or may have; `undefined` where none has. */
type LaterChanges = (id: string) => string | undefined;

/** A line without a result may be about to be sent. */
const MAY_HAVE_CHANGED: readonly (LineOutcome | undefined)[] = ['APPLIED', 'UNKNOWN', undefined];

/**
 * Reads what later batches did, each once. A million of their customers take 40 MB.
 * @throws CommandError (exit code 2) where there is no such batch, or nothing tells what came later
 */
export async function laterChanges(target: UpdatesTarget, batch: string): Promise<LaterChanges> {
  const begun = (await executionOf(target, batch))?.startDate;
  if (!begun) throw await forgotten(target, batch);
  // Who resumes at the same time sends the same lines.
  const own = [batch, resumedName(batch)];
  const later = (await batchesSince(target, begun)).filter((name) => !own.includes(name));
  const seen = new SeenIds();
  for (const [index, name] of later.entries()) {
    for await (const id of changedBy(target.store, name)) seen.seenBefore(id, index + 1);
  }
  // An id that is asked for is noted too, behind the last batch.
  return (id) => later[(seen.seenBefore(id, later.length + 1) ?? 0) - 1];
}

/** Step Functions forgets an execution after 90 days; a bucket may keep batches for ten years. */
async function forgotten({ store }: UpdatesTarget, batch: string) {
  for await (const _ of inputOf(store, batch)) break;
  return refused(
    `Step Functions has forgotten the execution of ${batch}, so nothing tells which batches came later: --over-newer sends its lines whatever those changed.`,
  );
}

/** The customers that a batch has changed, or may have. */
async function* changedBy(store: BatchStore, batch: string): AsyncGenerator<string> {
  const result = await store.stream(keysOf(batch).result);
  if (result) {
    for await (const { id, outcome } of resultsIn(result.chunks)) if (MAY_HAVE_CHANGED.includes(outcome)) yield id;
    return;
  }
  const lines = linesOf(failedLines(inputOf(store, batch), resultsOf(store, batch), MAY_HAVE_CHANGED));
  for await (const text of lines) yield idOf(text, 0) ?? '';
}

/** The lines of which no later batch has changed the customer. */
export async function* withoutNewer(
  lines: AsyncIterable<Uint8Array>,
  changed: LaterChanges,
): AsyncGenerator<Uint8Array> {
  for await (const text of linesOf(lines))
    if (changed(idOf(text, 0) ?? '') === undefined) yield Buffer.from(`${text}\n`);
}
