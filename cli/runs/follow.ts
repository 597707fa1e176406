import type { Command } from 'commander';
import { awsErrorText } from '../support/aws-error.ts';
import { commandFor, quoted, withExamples } from '../support/command-options.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { manyText, plainLine } from '../support/text.ts';
import { together } from '../support/together.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { followRun } from './executions.ts';
import { watchFile } from './file-progress.ts';
import { findRun } from './find-run.ts';
import { progressLines } from './progress-lines.ts';
import { createPublished } from './run/published.ts';
import type { NamedRun, Run } from './run/run.ts';
import { failureText, headText, readersText } from './run/words.ts';
import { withRun } from './run-names.ts';

/** A run that can be followed. */
type FollowedRun = Pick<NamedRun, 'run' | 'entity' | 'executionArn'>;

export interface FollowCommandOptions extends TargetOptions {
  json?: boolean;
}

/** Registers `follow`, which changes nothing. */
export function addFollow(command: Command): void {
  withRun(command).action(follow);
  withExamples(command, {
    'follow leads --deployment prod': 'the newest run of leads, under way or ended',
    'follow leads-20261120T020000Z-1a2b3c --deployment prod': 'a run by its name',
  });
}

async function follow(run: string, options: TargetOptions & { date?: string }): Promise<void> {
  const target = await connect(options);
  const found = await findRun(target, run, options.date);
  const { entity, name, executionArn } = found;
  if (entity) return followToTheEnd(target, [{ run: name, entity, executionArn }], options);
  throw new CommandError(`The input of ${name} names no entity, so there is nothing to follow.`, USAGE);
}

/**
 * Prints a line for each change of runs until they have ended, then their results.
 * @throws CommandError: 1 where a run was not published, 130 where Ctrl-C ended the following (never the run)
 */
export async function followToTheEnd(
  target: Target,
  runs: FollowedRun[],
  options: FollowCommandOptions,
): Promise<void> {
  const again = runs.map(({ run }) => commandFor(`follow ${quoted(run)}`, options)).join('\n  ');
  const words = runs.length === 1 ? `the run goes on: ${again}` : `the runs go on:\n  ${again}`;
  const reports = await untilInterrupted(`Stopped following; ${words}`, async (signal) => {
    try {
      return await show(target, runs, options.json, signal);
    } catch (error) {
      const trouble = signal.aborted ? undefined : awsErrorText(error);
      if (!trouble) throw error;
      throw new CommandError(`${trouble}\nThis says nothing about the run. To follow again: ${again}`, ENVIRONMENT);
    }
  });
  print(reports, options);
}

async function show(target: Target, runs: FollowedRun[], json: boolean | undefined, signal: AbortSignal) {
  const print = json ? printErr : printOut;
  // Whoever may not read the bucket learns how a run ended all the same.
  const published = createPublished(target, () => undefined);
  const about = { published, timeZone: target.TimeZone };
  const look = ({ entity, executionArn }: FollowedRun, either: AbortSignal) => {
    // The function that moves a file logs its progress as often.
    const fileProgress = watchFile(target, { everyMs: 5_000 });
    const onProgress = progressLines(print);
    return followRun(target.sfn, entity, executionArn, { signal: either, onProgress, fileProgress, ...about });
  };
  // Where one run cannot be read, following the others ends too.
  return together(runs, look, { signal });
}

function print(runs: Run[], options: FollowCommandOptions): void {
  const { json = false } = options;
  const failures = runs.filter(({ status }) => status !== 'SUCCEEDED');
  if (json) printJson({ ok: failures.length === 0, runs });
  for (const run of runs) {
    if (!json && run.status === 'SUCCEEDED') printOut(endText(run, options));
  }
  if (failures.length === 0) return;
  throw new CommandError(failures.map(failedText).join('\n'), RUN_FAILED, { documented: json });
}

function endText(run: Run, options: TargetOptions): string {
  const { run: name, key, bytes, table, warningCount } = run;
  const ofFile = key === null ? [] : [`${key} (${manyText(bytes ?? 0, 'byte')})`];
  const ofTable = table
    ? [`table ${table.key} (${[manyText(table.bytes, 'byte'), ...table.warnings].join('; ')})`]
    : [];
  const facts = [headText(run), ...ofFile, ...ofTable].map(plainLine).join(', ');
  if (!warningCount) return facts;
  return `${facts}, ${manyText(warningCount, 'warning')}: ${commandFor(`show ${quoted(name)}`, options)}`;
}

function failedText(run: Run): string {
  const { entity, date, readers } = run;
  const have = readers && entity ? `\n  ${readersText(readers, entity, date)}` : '';
  return `${entity}: ${failureText(run)}${have}`;
}
