import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand, type DescribeExecutionCommandOutput } from '@aws-sdk/client-sfn';
import type { Counts } from '../../core/batch/batch-manifest.ts';
import { secondsBetween } from '../runs/run/run.ts';
import { failureText } from '../runs/run/words.ts';
import { commandFor } from '../support/command-options.ts';
import { printJson, printOut } from '../support/print.ts';
import type { TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { countsText, failuresText, readBatchManifest } from './outcome.ts';
import { createProgressDisplay } from './progress.ts';
import { statusOf } from './status.ts';
import { ResultTally } from './tally.ts';
import type { UpdatesTarget } from './updates-target.ts';

interface Started {
  batch: string;
  executionArn: string;
  records: number;
}

interface FinishOptions extends TargetOptions {
  json?: boolean;
}

/**
 * Follows a batch to its end and prints what became of it.
 * @returns the sentence of a failure; `undefined` when every line was applied
 * @throws CommandError (exit code 130) on Ctrl-C, which ends the following, not the batch
 */
export async function finishBatch(
  target: UpdatesTarget,
  started: Started,
  options: FinishOptions,
): Promise<string | undefined> {
  const { store } = target;
  const { batch, records } = started;
  const tally = new ResultTally(store, batch);
  const look = commandFor(`update-status ${batch}`, options);
  const execution = await untilInterrupted(
    `No longer following; the batch ${batch} goes on. Look at it: ${look}`,
    (signal) => followBatch(target, started, tally, signal),
  );
  const manifest = await readBatchManifest(store, batch);
  const status = await statusOf(target, batch, execution, manifest);
  const run = { ...status, counts: manifest?.counts ?? tally.completed(records) };
  const ok = manifest !== undefined && run.counts.APPLIED === manifest.input.records;
  const failures = options.json ? [] : await failuresText(store, run);
  const advice = failures.length > 0 ? adviceFor(started, run.counts, options) : [];
  if (options.json) printJson({ ok, ...run });
  else printOut([countsText(run.counts), ...failures, ...advice].join('\n'));
  return ok ? undefined : failureText(run);
}

/** The longer a batch takes, the less often it is looked at. */
const FIRST_PAUSE_MS = 1000;
const LARGEST_PAUSE_MS = 5000;

/** @throws the signal's reason */
async function followBatch(
  { sfn }: UpdatesTarget,
  { executionArn, records }: Started,
  tally: ResultTally,
  signal: AbortSignal,
): Promise<DescribeExecutionCommandOutput> {
  const display = createProgressDisplay(process.stderr);
  try {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(LARGEST_PAUSE_MS, pause * 1.05)) {
      signal.throwIfAborted();
      const execution = await sfn.send(new DescribeExecutionCommand({ executionArn }));
      // The results are counted after the status is read, so that those written before the end are among them.
      await tally.refresh();
      const seconds = secondsBetween(execution.startDate, execution.stopDate ?? new Date());
      display.show({ counts: tally.counts, lines: tally.lines, records, seconds });
      if (execution.status !== 'RUNNING') return execution;
      await sleep(pause, undefined, { signal });
    }
  } finally {
    display.end();
  }
}

function adviceFor({ batch }: Started, counts: Counts, options: FinishOptions): string[] {
  const resumable = counts.FAILED + counts.UNKNOWN + counts.NOT_SENT > 0;
  const correct = commandFor(`update-status ${batch} --failed-to FILE.jsonl`, options);
  return [
    // First, because a batch after which another began is not resumed without a further option.
    ...(resumable ? [`To send lines again: ${commandFor(`update --resume ${batch}`, options)}`] : []),
    ...(counts.REJECTED > 0 ? [`To correct rejected lines: ${correct}`] : []),
  ];
}
