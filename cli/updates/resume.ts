import type { DescribeExecutionCommandOutput } from '@aws-sdk/client-sfn';
import { failedLines, TO_RESUME } from '../../core/batch/failed-lines.ts';
import { linesOf } from '../../core/updates/line-blocks.ts';
import { VALIDATED_JSONL } from '../../core/updates/read-jsonl.ts';
import { inputOf, resultsOf } from './batch-lines.ts';
import { readBatchManifest } from './outcome.ts';
import { resumedBy, resumedName } from './resumed-name.ts';
import { refused, type UpdateSource } from './source.ts';
import { executionOf } from './status.ts';
import type { UpdatesTarget } from './updates-target.ts';

/**
 * The lines of a finished batch that were neither applied nor rejected, with empty lines for the others, so that numbers of
 * lines stay. They are not validated again: they were found valid, perhaps by another release.
 */
export function unfinishedLines({ store }: UpdatesTarget, batch: string): UpdateSource {
  return {
    name: `what is left of ${batch}`,
    reader: VALIDATED_JSONL,
    open: () => inPlace(inputOf(store, batch), failedLines(inputOf(store, batch), resultsOf(store, batch), TO_RESUME)),
    close: async () => undefined,
  };
}

/** Puts lines taken out of a file back in their places. No two lines are equal: each has an id of its own. */
async function* inPlace(
  whole: AsyncIterable<Uint8Array>,
  taken: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const waiting = linesOf(taken);
  let next = await waiting.next();
  let gap = 0;
  for await (const line of linesOf(whole)) {
    if (next.done) return;
    if (line !== next.value) {
      gap += 1;
      continue;
    }
    yield Buffer.from(`${'\n'.repeat(gap)}${line}\n`);
    gap = 0;
    next = await waiting.next();
  }
}

/**
 * A batch may be resumed after its end, and only once.
 * @returns its execution where that ended without a summary: its functions may still be running
 * @throws CommandError (exit code 2) saying why it is not resumed
 */
export async function refuseToResume(
  target: UpdatesTarget,
  batch: string,
): Promise<DescribeExecutionCommandOutput | undefined> {
  const { store } = target;
  const manifest = await readBatchManifest(store, batch);
  if (manifest && manifest.counts.FAILED + manifest.counts.UNKNOWN + manifest.counts.NOT_SENT === 0) {
    throw refused(`Every line of ${batch} was applied or rejected: there is nothing to resume.`);
  }
  const execution = manifest ? undefined : await executionOf(target, batch);
  if (execution?.status === 'RUNNING') throw refused(`The batch ${batch} is still under way: wait for its end.`);
  if (await resumedBy(store, batch)) throw resumedAlready(batch);
  return execution;
}

export function resumedAlready(batch: string) {
  const name = resumedName(batch);
  return refused(
    `The batch ${batch} was resumed already, as ${name}: look at that with update-status, and resume that for what it leaves.`,
  );
}
