import type { Command } from 'commander';
import type { Entity } from '../../core/config/entities.ts';
import { awsErrorText } from '../support/aws-error.ts';
import { commandFor, quoted, withExamples } from '../support/command-options.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED, USAGE } from '../support/exit.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { manyText, plainLine } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { followRun } from './executions.ts';
import { watchFile } from './file-progress.ts';
import { findRun } from './find-run.ts';
import type { Progress, RunReport } from './run-report.ts';
import { createScreen } from './screen.ts';
import { withoutJobSentence } from './without-job.ts';

/** A run that can be followed. */
export interface NamedRun {
  entity: Entity;
  name: string;
  executionArn: string;
}

export interface FollowCommandOptions extends TargetOptions {
  json?: boolean;
}

/** Registers `follow`, which changes nothing. */
export function addFollow(command: Command): void {
  command
    .argument('<run>', 'name or ARN of an execution, or an entity: its newest run')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(follow);
  withExamples(command, {
    'follow leads --deployment prod': 'the newest run of leads, under way or ended',
    'follow leads-20261120T020000Z-1a2b3c --deployment prod --json': 'a run by its name, as a document',
  });
}

async function follow(run: string, options: FollowCommandOptions): Promise<void> {
  const target = await connect(options);
  const { entity, name, executionArn } = await findRun(target, run);
  if (entity) return followToTheEnd(target, [{ entity, name, executionArn }], options);
  throw new CommandError(`The input of ${name} names no entity, so there is nothing to follow.`, USAGE);
}

/**
 * Shows runs to their ends, live on a terminal, a line for each change elsewhere; then their results.
 * @throws CommandError: 1 where a run was not published, 130 where Ctrl-C ended the following (never the run)
 */
export async function followToTheEnd(target: Target, runs: NamedRun[], options: FollowCommandOptions): Promise<void> {
  const again = runs.map(({ name }) => commandFor(`follow ${quoted(name)}`, options)).join('\n  ');
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

async function show(target: Target, runs: NamedRun[], json: boolean | undefined, signal: AbortSignal) {
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
      // The function that moves a file logs its progress as often.
      const fileProgress = watchFile(target, { everyMs: 5_000 });
      return followRun(target.sfn, entity, executionArn, { signal: either, onProgress, fileProgress });
    });
    return await Promise.all(looks);
  } finally {
    others.abort();
    screen.endProgress();
  }
}

function print(reports: RunReport[], options: FollowCommandOptions): void {
  const { json = false } = options;
  const failures = reports.filter(({ status }) => status !== 'SUCCEEDED');
  if (json) process.stdout.write(`${JSON.stringify({ ok: failures.length === 0, runs: reports })}\n`);
  for (const report of reports) {
    if (!json && report.status === 'SUCCEEDED') process.stdout.write(`${publishedText(report, options)}\n`);
  }
  if (failures.length > 0)
    throw new CommandError(failures.map(failureText).join('\n'), RUN_FAILED, { documented: json });
}

function publishedText(report: RunReport, options: TargetOptions): string {
  const { entity, rows, bytes, key, warningCount, executionArn, withoutJob } = report;
  if (withoutJob) return plainLine(`${entity}: ${withoutJobSentence(withoutJob)}`);
  if (report.tableOf !== null) return plainLine(`${entity}: ${tableText(report)}`);
  const table = report.table ? `, table ${report.table.key}${warningsText(report)}` : '';
  const text = `${entity}: ${outcomeOf(report)}, ${rows ?? 'uncounted'} rows, ${bytes} bytes, ${plainLine(`${key}${table}`)}`;
  if (!warningCount) return text;
  return `${text}, ${manyText(warningCount, 'warning')}: ${commandFor(`show ${quoted(executionArn.split(':').at(-1) ?? '')}`, options)}`;
}

function tableText(report: RunReport): string {
  const { table, tableOf } = report;
  if (!table) return `no table is written: another run than ${tableOf} is published for its date`;
  return `the table of ${tableOf} is written, ${table.rows} rows, ${table.bytes} bytes, ${table.key}${warningsText(report)}`;
}

function warningsText({ table }: RunReport): string {
  return table && table.warnings.length > 0 ? ` (${table.warnings.join(' ')})` : '';
}

function outcomeOf({ unpublished, released }: RunReport): string {
  if (unpublished)
    return `stored, not published (its plan is another than the configured one: ${unpublished.join(', ')})`;
  if (!released) return 'published';
  const { run, date, latest } = released;
  return plainLine(
    `${run} is released and is ${latest ? 'the latest' : 'not the latest, but what counts'} for ${date}`,
  );
}

function failureText({ entity, status, error, cause }: RunReport): string {
  return `${entity}: ${error ?? status}: ${cause ?? 'no cause was given.'}`;
}
