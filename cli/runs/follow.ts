import { setTimeout as sleep } from 'node:timers/promises';
import { DescribeExecutionCommand, type SFNClient } from '@aws-sdk/client-sfn';
import { commandFor, quoted } from '../support/command-options.ts';
import { adviceLines } from '../support/command-text.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { countText, printableLine } from '../support/text.ts';
import { type EnteredState, lastEnteredState, positionText } from './executions.ts';
import { findRunOfEntity } from './find-run.ts';
import { createPublished, type Published } from './published-runs.ts';
import {
  type Execution,
  executionOf,
  failureText,
  headText,
  type Run,
  readersText,
  runOf,
  secondsBetween,
} from './run.ts';
import { runForEach } from './run-for-each.ts';

export type FollowCommandOptions = TargetOptions & { json?: boolean };

/** Runs the command `follow`, which changes nothing. */
export async function follow(run: string, options: TargetOptions & { date?: string }): Promise<void> {
  const target = await connect(options);
  const { found } = await findRunOfEntity(target, run, options.date, 'to follow');
  await followToTheEnd(target, [found], options);
}

/**
 * Prints a line for each change of the runs until they have ended, then their results.
 * @throws CommandError: 1 if a run was not published, 130 after Ctrl-C, which stops following but never the run
 */
export async function followToTheEnd(target: Target, runs: Execution[], options: FollowCommandOptions): Promise<void> {
  const again = runs.map(({ name }) => commandFor(`follow ${quoted(name)}`, options)).join('\n  ');
  const words = runs.length === 1 ? `The run continues: ${again}` : `The runs continue:\n  ${again}`;
  const print = options.json ? printErr : printOut;
  // The end of a run is shown even to users who may not read the bucket.
  const published = createPublished(target, () => undefined);
  const followOne = ({ executionArn, input, name }: Execution, signal: AbortSignal) =>
    followRun(target.sfn, executionArn, { signal, onProgress: progressLines(input.entity ?? name, print), published });
  // If one run cannot be read, the command stops following the others too.
  const ended = await runForEach(runs, followOne, {
    stopped: `Stopped following. ${words}`,
    after: `The run is not affected. To follow again: ${again}`,
  });
  printEnds(ended, options);
}

function printEnds(runs: Run[], options: FollowCommandOptions): void {
  const { json = false } = options;
  const failures = runs.filter(({ status }) => status !== 'SUCCEEDED');
  if (json) printJson({ ok: failures.length === 0, runs });
  for (const run of runs) if (!json && run.status === 'SUCCEEDED') printOut(endText(run, options));
  if (failures.length === 0) return;
  throw new CommandError(failures.map((run) => failedText(run, options)).join('\n'), RUN_FAILED, { documented: json });
}

function endText(run: Run, options: TargetOptions): string {
  const { run: name, key, bytes, table, warningCount } = run;
  const ofFile = key === null ? [] : [`${key} (${bytes} bytes)`];
  const ofTable = table ? [`table ${table.key} (${[`${table.bytes} bytes`, ...table.warnings].join('; ')})`] : [];
  const facts = [headText(run), ...ofFile, ...ofTable].map(printableLine).join(', ');
  if (!warningCount) return facts;
  return `${facts}, ${countText(warningCount, 'warning')}: ${commandFor(`show ${quoted(name)}`, options)}`;
}

function failedText(run: Run, options: TargetOptions): string {
  const { entity, date, readers } = run;
  const next = `\n  Next: ${commandFor(`show ${quoted(run.run)}`, options)}`;
  const have = readers && entity ? `\n  ${readersText(readers, entity, date)}` : '';
  return `${entity}: ${adviceLines(failureText(run)).join('\n  ')}${have}${next}`;
}

interface FollowOptions {
  everyMs?: number;
  signal?: AbortSignal | undefined;
  onProgress?: (status: string, entered: EnteredState, seconds: number) => void;
  /** Reads the published state of the run from the bucket; without it, that part is left out. */
  published?: Published;
}

/**
 * Follows a run to its end. The `signal` stops following, never the run.
 * @throws the reason of the signal
 */
export async function followRun(
  sfn: SFNClient,
  executionArn: string,
  { everyMs = 1000, signal, onProgress, published }: FollowOptions = {},
): Promise<Run> {
  for (;;) {
    const described = await sfn.send(new DescribeExecutionCommand({ executionArn }), { abortSignal: signal });
    const execution = executionOf({ ...described, executionArn });
    const { status, startDate, stopDate } = execution;
    const isOver = status !== 'RUNNING';
    // The history is large. Without a display of progress, it is read once, at the end.
    if (isOver || onProgress) {
      const entered = await lastEnteredState(sfn, executionArn, signal);
      onProgress?.(status, entered, secondsBetween(startDate, stopDate ?? new Date()));
      const context = { state: entered.state };
      if (isOver) return published ? (await published.complete(execution, context)).run : runOf(execution, context);
    }
    await sleep(everyMs, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}

/**
 * Prints one line when the state of a run changes, such as `CheckStatus, 1 check (1.2 s)`. The last line has the status of
 * the ended run. The lines are the same in a terminal, a pipe and CI.
 */
export function progressLines(what: string, print: (line: string) => void): NonNullable<FollowOptions['onProgress']> {
  let shown = '';
  return (status, entered, seconds) => {
    const state = status === 'RUNNING' ? positionText(entered) : printableLine(`${entered.name}, ${status}`);
    if (entered.name === '' || state === shown) return;
    shown = state;
    print(`  ${what}: ${state} (${seconds.toFixed(1)} s)`);
  };
}
