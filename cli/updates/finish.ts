import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand, type DescribeExecutionCommandOutput } from '@aws-sdk/client-sfn';
import type { Counts } from '../../core/batch/batch-results.ts';
import { secondsBetween } from '../runs/run.ts';
import { failureText } from '../runs/run-words.ts';
import { commandFor } from '../support/command-options.ts';
import { liveLines, printJson, printOut, writeText } from '../support/print.ts';
import type { TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { countsText, failuresText, ResultTally, readBatchManifest, type UpdatesTarget } from './batch-facts.ts';
import { statusOf } from './update-status.ts';

interface Started {
  batch: string;
  executionArn: string;
  records: number;
}

interface FinishOptions extends TargetOptions {
  json?: boolean;
}

/**
 * Follows a batch to its end and prints the result.
 * @returns the sentence of a failure; `undefined` if every line was applied
 * @throws CommandError (exit code 130) after Ctrl-C, which stops following but not the batch
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

/** Pauses between two reads of the status; they grow with the duration of the batch. */
const FIRST_PAUSE_MS = 1000;
const LARGEST_PAUSE_MS = 5000;

/** @throws the reason of the signal */
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
      // The results are read after the status, so that they include all results from before the end.
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
    // This advice comes first: once a later batch has begun, a resume needs another option.
    ...(resumable ? [`To send lines again: ${commandFor(`update --resume ${batch}`, options)}`] : []),
    ...(counts.REJECTED > 0 ? [`To correct rejected lines: ${correct}`] : []),
  ];
}

/** The progress of a batch. */
export interface BatchProgress {
  counts: Counts;
  /** Lines with an outcome. */
  lines: number;
  records: number;
  seconds: number;
}

const BAR_CELLS = 24;
/** Without a terminal, a line is printed whenever the progress has grown by this much. */
const STEP_PERCENT = 5;

/** Shows the progress of a batch: one live row on a terminal, which stays after `end`; elsewhere some lines. */
export function createProgressDisplay(stream: NodeJS.WriteStream) {
  // A terminal without a known size cannot show a live row.
  if (stream.isTTY && stream.columns > 0 && stream.rows > 0) {
    const row = liveLines(stream);
    return {
      show: (progress: BatchProgress) => row.show(`${barOf(progress)} ${progressText(progress)}`),
      end: () => undefined,
    };
  }
  let shown = -1;
  const show = (progress: BatchProgress) => {
    const step = Math.floor(percentOf(progress) / STEP_PERCENT);
    if (step === shown) return;
    shown = step;
    writeText(stream, `${progressText(progress)}\n`);
  };
  return { show, end: () => undefined };
}

/** `430 of 1,000 lines (43 %), 21.3 a second; 2 REJECTED` */
export function progressText(progress: BatchProgress): string {
  const { lines, records, seconds, counts } = progress;
  const done = `${lines.toLocaleString('en')} of ${manyText(records, 'line')} (${percentOf(progress)} %)`;
  const rate = seconds > 0 ? `, ${(lines / seconds).toFixed(1)} a second` : '';
  const others = Object.entries(counts).flatMap(([outcome, count]) =>
    outcome === 'APPLIED' || count === 0 ? [] : [`${count.toLocaleString('en')} ${outcome}`],
  );
  return `${done}${rate}${others.length > 0 ? `; ${others.join(', ')}` : ''}`;
}

function barOf(progress: BatchProgress): string {
  const full = Math.floor((percentOf(progress) * BAR_CELLS) / 100);
  return `[${'█'.repeat(full)}${'░'.repeat(BAR_CELLS - full)}]`;
}

/** Rounded down, so that 100 means that all lines are done. */
function percentOf({ lines, records }: BatchProgress): number {
  return records === 0 ? 0 : Math.floor((lines * 100) / records);
}
