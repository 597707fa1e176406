import type { Entity } from '../../core/config/entities.ts';
import { awsErrorText } from '../support/aws-error.ts';
import { commandFor } from '../support/command-options.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED } from '../support/exit.ts';
import type { Target, TargetOptions } from '../support/target.ts';
import { manyText, plainLine } from '../support/text.ts';
import { followRun } from './executions.ts';
import { watchFile } from './file-progress.ts';
import { untilInterrupted } from './follow-interrupt.ts';
import type { Progress, RunReport } from './run-report.ts';
import { createScreen } from './screen.ts';

/** A run that can be followed. */
export interface NamedRun {
  entity: Entity;
  name: string;
  executionArn: string;
}

export interface FollowCommandOptions extends TargetOptions {
  json?: boolean;
}

/** The function that moves a file logs its progress as often. */
const LOOK_AT_FILE_EVERY_MS = 5_000;

/**
 * Shows runs to their ends, live on a terminal, a line for each change elsewhere; then what came of them.
 * @throws CommandError: 1 where a run was not published, 130 where Ctrl-C ended the looking (never the run)
 */
export async function followToTheEnd(target: Target, runs: NamedRun[], options: FollowCommandOptions): Promise<void> {
  const again = runs.map(({ name }) => commandFor(`follow ${name}`, options)).join('\n  ');
  const words = runs.length === 1 ? `the run goes on: ${again}` : `the runs go on:\n  ${again}`;
  const reports = await untilInterrupted(`Stopped following; ${words}`, async (signal) => {
    try {
      return await show(target, runs, { signal, json: options.json });
    } catch (error) {
      const trouble = signal.aborted ? undefined : awsErrorText(error);
      if (!trouble) throw error;
      throw new CommandError(`${trouble}\nThis says nothing about the run. To follow again: ${again}`, ENVIRONMENT);
    }
  });
  print(reports, options);
}

async function show(
  target: Target,
  runs: NamedRun[],
  { signal, json }: { signal: AbortSignal; json: boolean | undefined },
): Promise<RunReport[]> {
  const screen = createScreen(json ? process.stderr : process.stdout);
  const rows = new Map<string, Progress>();
  // If one cannot be read, following the others ends too.
  const others = new AbortController();
  const either = AbortSignal.any([signal, others.signal]);
  try {
    const looks = runs.map(({ entity, executionArn }) => {
      const onProgress = (progress: Progress) => {
        rows.set(executionArn, progress);
        screen.progress(runs.flatMap((run) => rows.get(run.executionArn) ?? []));
      };
      const fileProgress = watchFile(target, { everyMs: LOOK_AT_FILE_EVERY_MS });
      return followRun(target.sfn, entity, executionArn, { signal: either, onProgress, fileProgress });
    });
    return await Promise.all(looks);
  } finally {
    others.abort();
    screen.endProgress();
  }
}

function print(reports: RunReport[], options: FollowCommandOptions): void {
  const { json } = options;
  const failures = reports.filter(({ status }) => status !== 'SUCCEEDED');
  if (json) process.stdout.write(`${JSON.stringify({ ok: failures.length === 0, runs: reports })}\n`);
  for (const report of reports) {
    if (!json && report.status === 'SUCCEEDED') process.stdout.write(`${publishedText(report, options)}\n`);
  }
  if (failures.length === 0) return;
  throw new CommandError(failures.map(failureText).join('\n'), RUN_FAILED, { documented: json === true });
}

function publishedText({ entity, rows, bytes, key, warningCount, executionArn }: RunReport, options: TargetOptions) {
  const text = `${entity}: published, ${rows ?? 'uncounted'} rows, ${bytes} bytes, ${plainLine(key ?? '')}`;
  if (!warningCount) return text;
  return `${text}, ${manyText(warningCount, 'warning')}: ${commandFor(`show ${executionArn.split(':').at(-1)}`, options)}`;
}

function failureText({ entity, status, error, cause }: RunReport): string {
  return `${entity}: ${error ?? status}: ${cause ?? 'no cause was given.'}`;
}
