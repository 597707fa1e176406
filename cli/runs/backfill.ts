import type { Command } from 'commander';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { createManifests, ifReadable } from '../data/stored-manifests.ts';
import { partialFailure } from '../support/aws-error.ts';
import {
  commandFor,
  dateArgument,
  entityArgument,
  numberArgument,
  quoted,
  withExamples,
} from '../support/command-options.ts';
import { warnUnsettled } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr, printJson, writeText } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { colorsFor, manyText } from '../support/text.ts';
import { together } from '../support/together.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { startRun } from './executions.ts';
import { refuseDate, refuseSameData } from './export-date.ts';
import { executionsOf } from './find-run.ts';
import { followRun } from './follow.ts';
import { executionOf, OUTCOMES, type Run, runOf } from './run.ts';
import { outcomeWord, painterOf, SIGNS } from './run-words.ts';

interface BackfillOptions extends TargetOptions {
  from: string;
  to: string;
  concurrency: number;
  dryRun?: boolean;
  sameData?: boolean;
  json?: boolean;
}

const MOST_AT_ONCE = 10;

export function addBackfill(command: Command): void {
  command
    .argument('<entity>', ENTITIES.join(', '), entityArgument)
    .requiredOption('--from <YYYY-MM-DD>', 'the first date', dateArgument)
    .requiredOption('--to <YYYY-MM-DD>', 'the last date', dateArgument)
    .option(
      '--concurrency <number>',
      'runs at the same time',
      numberArgument(`A whole number from 1 to ${MOST_AT_ONCE}.`, 1, MOST_AT_ONCE),
      2,
    )
    .option('--dry-run', 'show what is published and what would be started, and start nothing')
    .option('--same-data', 'even if the plan does not depend on the date: each date gets the data of today')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(backfill);
  withExamples(command, {
    'backfill leads --from 2026-03-01 --to 2026-03-31 --dry-run --deployment prod': 'what is missing of March',
    'backfill leads --from 2026-03-01 --to 2026-03-31 --deployment prod':
      'start the missing dates; run it again to go on after a break',
  });
}

async function backfill(entity: Entity, options: BackfillOptions): Promise<void> {
  const wanted = datesBetween(options.from, options.to);
  const target = await connect(options);
  refuseDate(target, { date: options.from });
  refuseDate(target, { date: options.to });
  if (options.sameData) warnUnsettled(target);
  else await refuseSameData(target, [entity], 'under its date');
  const dates = await knownDates(target, entity, wanted);
  const stream = options.json ? process.stderr : process.stdout;
  if (!options.dryRun) await fill(target, entity, dates, { ...options, stream });
  writeText(stream, `${calendarText(dates, stream)}\n`);
  print(entity, dates, options);
}

/** All dates from `from` to `to`, inclusive. @throws CommandError (exit code 2) if `from` is after `to` */
export function datesBetween(from: string, to: string): string[] {
  if (from > to) throw new CommandError(`--from ${from} is after --to ${to}: nothing was started.`, USAGE);
  const dates = [from];
  for (let date = from; date < to; dates.push(date)) date = dateAfter(date, 1);
  return dates;
}

async function knownDates(target: Target, entity: Entity, wanted: string[]): Promise<BackfillDate[]> {
  const there = (await createManifests(target).dates(entity)).filter((date) => wanted.includes(date));
  const flags = await eachOf(there, (date) => isPublished(target, entity, date));
  const published = new Set(there.filter((_, index) => flags[index]));
  const running = await runsUnderWay(target, entity);
  return wanted.map((date) => {
    const run = running.get(date) ?? null;
    if (published.has(date)) return { date, state: 'published', run: null, error: null };
    return { date, state: run === null ? 'missing' : 'running', run, error: null };
  });
}

interface FillOptions extends BackfillOptions {
  /** Gets a line for each change of a date. */
  stream: NodeJS.WriteStream;
}

/**
 * Runs every date that is not published, oldest first, and follows each run to its end. It changes the dates in place.
 * @throws CommandError: 130 after Ctrl-C, which stops neither runs under way; an AWS error, which stops the other dates
 */
async function fill(target: Target, entity: Entity, dates: BackfillDate[], options: FillOptions): Promise<void> {
  const again = againText(entity, options);
  const left = dates.filter(({ state }) => state !== 'published');
  const words = `Stopped: no more runs are started, and those that are under way go on. To go on: ${again}`;
  const change = (date: BackfillDate, to: Partial<BackfillDate>) => {
    const { state, run, error } = Object.assign(date, to);
    const line = [`${date.date}: ${STATES[state].word}`, run?.run, error].filter(Boolean).join(', ');
    writeText(options.stream, `${line}\n`);
  };
  await untilInterrupted(words, async (signal) => {
    const fillOne = (date: BackfillDate, either: AbortSignal) => fillDate(target, entity, date, either, change);
    await together(left, fillOne, { signal, atOnce: options.concurrency }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      const done = `Runs that are under way go on. To go on: ${again}`;
      throw partialFailure(error, done, options.json ? { entity, dates } : undefined);
    });
  });
}

/** Fills one date, which `change` changes. */
export async function fillDate(
  target: Target,
  entity: Entity,
  date: BackfillDate,
  signal: AbortSignal,
  change: (date: BackfillDate, to: Partial<BackfillDate>) => void,
): Promise<void> {
  for (;;) {
    if (await isPublished(target, entity, date.date)) return change(date, { state: 'published' });
    const found = (await runsUnderWay(target, entity)).get(date.date);
    const begun = found ?? (await startOf(target, entity, date.date, signal));
    change(date, { state: 'running', run: begun });
    const run = await followRun(target.sfn, entity, begun.executionArn ?? '', { signal });
    // Only the pointer counts: a run may succeed without publishing a file.
    if (await isPublished(target, entity, date.date)) return change(date, { state: 'published', run });
    // A run that this command did not start may have had another plan, so the date still needs its own run.
    if (found) continue;
    const error = run.status === 'SUCCEEDED' ? 'PublishedNothing' : outcomeWord(run);
    return change(date, { state: 'failed', run, error });
  }
}

/** @throws CommandError (exit code 1) if a date failed */
function print(entity: Entity, dates: BackfillDate[], options: BackfillOptions): void {
  const { json = false, dryRun = false } = options;
  const failed = dates.filter(({ state }) => state === 'failed');
  if (json) printJson({ ok: failed.length === 0, entity, dryRun, dates });
  if (failed.length === 0) return;
  const named = failed.map(({ date, run, error }) => `  ${date}: ${error} (${run?.run})`).join('\n');
  const lines = [
    `${manyText(failed.length, 'date')} failed:`,
    named,
    `Why, and what helps: ${commandFor(`show ${quoted(failed[0]?.run?.run ?? entity)}`, options)}`,
    `To start them again: ${againText(entity, options)}`,
  ];
  throw new CommandError(lines.join('\n'), RUN_FAILED, { documented: json });
}

function againText(entity: Entity, options: BackfillOptions): string {
  const { from, to, concurrency, sameData } = options;
  const more = { from, to, concurrency: String(concurrency) };
  return commandFor(`backfill ${entity}${sameData ? ' --same-data' : ''}`, options, more);
}

export interface BackfillDate {
  date: string;
  state: 'published' | 'running' | 'failed' | 'missing';
  /** The run of the date, if this command knows one. */
  run: Run | null;
  /** Why it failed. */
  error: string | null;
}

const { published, running, failed } = OUTCOMES;
const STATES = { published, running, failed, missing: { word: 'to do', tone: 'idle' } } as const;
const DAYS_OF_MONTH = 31;

/** A row for each month with a mark for each date, and a legend of the marks. */
export function calendarText(dates: BackfillDate[], stream: { isTTY?: boolean }): string {
  const colors = colorsFor(stream);
  const paint = painterOf(stream);
  const markOf = (state: BackfillDate['state']) => paint(STATES[state].tone)(SIGNS[STATES[state].tone]);
  const months = Map.groupBy(dates, ({ date }) => date.slice(0, 7));
  const rows = [...months].map(([month, ofMonth]) => {
    const marks = Array<string>(DAYS_OF_MONTH).fill(' ');
    for (const { date, state } of ofMonth) marks[Number(date.slice(8)) - 1] = markOf(state);
    return `${month}  ${marks.join('')}`.trimEnd();
  });
  const states = Object.keys(STATES) as BackfillDate['state'][];
  const legend = states.map((state) => {
    const count = dates.filter((each) => each.state === state).length;
    return `${markOf(state)} ${count.toLocaleString('en-US')} ${STATES[state].word}`;
  });
  const days = '1   5    10   15   20   25   30';
  return [colors.dim(`         ${days}`), ...rows, `${manyText(dates.length, 'date')}: ${legend.join('  ')}`].join(
    '\n',
  );
}

/** Whether the configured plan is published for a date. A file of another plan does not count. */
async function isPublished(target: Target, entity: Entity, date: string): Promise<boolean> {
  const pointer = await ifReadable(createManifests(target).pointer(entity, date), printErr);
  return pointer !== undefined && pointer.kind !== 'partial';
}

/**
 * Starts the run of a date. Concurrent commands start only one, because its name contains the date, and Step Functions
 * starts only one execution of a name: while it runs, each of them gets its ARN.
 * @throws the reason of the signal, before a run is started
 */
async function startOf(target: Target, entity: Entity, date: string, signal: AbortSignal): Promise<Run> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      const executionArn = await startRun(target, entity, { date }, `${entity}-backfill-${date}-${attempt}`);
      return runOf(executionOf({ executionArn, startDate: new Date(), input: JSON.stringify({ entity, date }) }));
    } catch (error) {
      // A run of this name has ended: the next attempt has another name.
      if (!(error instanceof Error && error.name === 'ExecutionAlreadyExists')) throw error;
    }
  }
}

/** Exports of an entity that are in progress, by date. */
async function runsUnderWay(target: Target, entity: Entity): Promise<Map<string, Run>> {
  const runs = new Map<string, Run>();
  for await (const execution of executionsOf(target, { running: true })) {
    const run = runOf(execution, { timeZone: target.TimeZone });
    if (run.what === 'export' && run.entity === entity) runs.set(run.date ?? '', run);
  }
  return runs;
}
