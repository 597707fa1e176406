import { commandFor } from '../support/command-options.ts';
import { CommandError, INTERRUPTED } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import { followBatch } from './batch.ts';
import {
  type BatchReport,
  countsText,
  failuresText,
  firstFailures,
  notApplied,
  readBatchManifest,
  reportOfManifest,
  storeOf,
} from './outcome.ts';
import { createProgressDisplay } from './progress.ts';
import { ResultTally } from './tally.ts';
import type { UpdateOptions } from './update.ts';

interface Started {
  batch: string;
  executionArn: string;
  records: number;
}

/**
 * Follows a batch to its end and prints what became of it.
 * @returns the sentence of a failure; `undefined` when every line was applied
 * @throws CommandError (exit code 130) on Ctrl-C, which ends the following, not the batch
 */
export async function finishBatch(
  target: Target,
  started: Started,
  options: UpdateOptions,
): Promise<string | undefined> {
  const store = storeOf(target);
  const tally = new ResultTally(store, started.batch);
  const execution = await followVisibly(target, started, tally, options);
  const manifest = await readBatchManifest(store, started.batch);
  const report: BatchReport = manifest
    ? reportOfManifest(manifest)
    : { ok: false, batch: started.batch, counts: tally.completed(started.records), resultKey: null, manifestKey: null };
  const lines = options.json ? [JSON.stringify(report)] : [countsText(report.counts)];
  if (!options.json && report.resultKey && !report.ok) {
    const failures = await firstFailures(store, report.resultKey);
    lines.push('', failuresText(failures, notApplied(report.counts)), '', ...advice(report, options));
  }
  process.stdout.write(`${lines.join('\n')}\n`);
  if (report.ok) return undefined;
  return `${execution.error ?? execution.status}: ${execution.cause ?? 'no cause was given.'}`;
}

async function followVisibly(target: Target, started: Started, tally: ResultTally, options: UpdateOptions) {
  const interrupt = new AbortController();
  const onInterrupt = () => interrupt.abort(stoppedFollowing(started, options));
  const display = createProgressDisplay(process.stderr);
  process.once('SIGINT', onInterrupt);
  try {
    return await followBatch(target, started.executionArn, tally, {
      records: started.records,
      signal: interrupt.signal,
      onProgress: display.show,
    });
  } finally {
    process.off('SIGINT', onInterrupt);
    display.end();
  }
}

function stoppedFollowing({ batch }: Started, options: UpdateOptions): CommandError {
  const look = commandFor(`update-status ${batch}`, options);
  return new CommandError(`No longer following; the batch ${batch} goes on. Look at it: ${look}`, INTERRUPTED);
}

function advice({ batch, counts, resultKey, manifestKey }: BatchReport, options: UpdateOptions): string[] {
  const resumable = counts.FAILED + counts.UNKNOWN + counts.NOT_SENT > 0;
  return [
    `Result: ${resultKey}, ${manifestKey}`,
    ...(counts.REJECTED > 0
      ? [`To correct lines: ${commandFor(`update-status ${batch} --failed-to FILE.jsonl`, options)}`]
      : []),
    ...(resumable ? [`To send the others again: ${commandFor(`update --resume ${batch}`, options)}`] : []),
  ];
}
