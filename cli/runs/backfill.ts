import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { createManifests, ifReadable } from '../data/stored-manifests.ts';
import { partialFailure } from '../support/aws-error.ts';
import {
  commandFor,
  dateArgument,
  entitiesArgument,
  numberArgument,
  quoted,
  withExamples,
} from '../support/command-options.ts';
import { warnUnsettled } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { liveLines, printErr, printJson, writeText } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { colorsFor, manyText } from '../support/text.ts';
import { together } from '../support/together.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { startRun } from './executions.ts';
import { refuseDate, refuseSameData } from './export-date.ts';
import { executionsOf } from './find-run.ts';
import { followRun } from './follow.ts';
import { type FoundRun, foundRun, OUTCOMES, type Run, runOf } from './run.ts';
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
    .argument('<entity>', ENTITIES.join(', '), (text) => entitiesArgument(text)[0])
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
  if (!options.dryRun) await fill(target, entity, dates, options);
  else createCalendarScreen(dates, streamOf(options)).end();
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
    const run = running.get(date)?.run ?? null;
    if (published.has(date)) return { date, state: 'published', run: null, error: null };
    return { date, state: run === null ? 'missing' : 'running', run, error: null };
  });
}

async function fill(target: Target, entity: Entity, dates: BackfillDate[], options: BackfillOptions): Promise<void> {
  const again = againText(entity, options);
  const screen = createCalendarScreen(dates, streamOf(options));
  const words = `Stopped: no more runs are started, and those that are under way go on. To go on: ${again}`;
  await untilInterrupted(words, async (signal) => {
    try {
      await fillDates(target, entity, dates, { concurrency: options.concurrency, signal, onChange: screen.changed });
    } catch (error) {
      if (signal.aborted) throw error;
      const done = `Runs that are under way go on. To go on: ${again}`;
      throw partialFailure(error, done, options.json ? { entity, dates } : undefined);
    } finally {
      screen.end();
    }
  });
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

function streamOf({ json }: BackfillOptions): NodeJS.WriteStream {
  return json ? process.stderr : process.stdout;
}

function againText(entity: Entity, options: BackfillOptions): string {
  const { from, to, concurrency, sameData } = options;
  const more = { from, to, concurrency: String(concurrency) };
  return commandFor(`backfill ${entity}${sameData ? ' --same-data' : ''}`, options, more);
}

interface FillOptions {
  concurrency: number;
  /** Stops starting and following runs; runs in progress continue. */
  signal: AbortSignal;
  onChange: (date: BackfillDate) => void;
}

/**
 * Runs every date that is not published, oldest first, and follows each run to its end. It changes the dates in place.
 * @throws the reason of the signal; an AWS error, which stops the other dates too
 */
export async function fillDates(
  target: Target,
  entity: Entity,
  dates: BackfillDate[],
  { concurrency, signal, onChange }: FillOptions,
): Promise<void> {
  const left = dates.filter(({ state }) => state !== 'published');
  const change = (date: BackfillDate, to: Partial<BackfillDate>) => onChange(Object.assign(date, to));
  const fill = (date: BackfillDate, either: AbortSignal) => fillDate(target, entity, date, { signal: either, change });
  await together(left, fill, { signal, atOnce: concurrency });
}

interface DateOptions {
  signal: AbortSignal;
  change: (date: BackfillDate, to: Partial<BackfillDate>) => void;
}

async function fillDate(target: Target, entity: Entity, date: BackfillDate, { signal, change }: DateOptions) {
  for (;;) {
    const found = await runOfDate(target, entity, date.date, signal);
    if (!found) return change(date, { state: 'published' });
    change(date, { state: 'running', run: found.run });
    const run = await followRun(target.sfn, entity, found.executionArn, { signal });
    // Only the pointer counts: a run may succeed without publishing a file.
    if (await isPublished(target, entity, date.date)) return change(date, { state: 'published', run });
    // A run that this command did not start may have had another plan, so the date still needs its own run.
    if (!found.started) continue;
    const error = run.status === 'SUCCEEDED' ? 'PublishedNothing' : outcomeWord(run);
    return change(date, { state: 'failed', run, error });
  }
}

/** Shows a live calendar on a terminal; elsewhere a line for each change, and the calendar at the end. */
export function createCalendarScreen(dates: BackfillDate[], stream: NodeJS.WriteStream) {
  const live = stream.isTTY === true;
  const calendar = liveLines(stream);
  if (live) calendar.show(calendarText(dates, stream));
  return {
    changed: (date: BackfillDate) => {
      if (live) calendar.show(calendarText(dates, stream));
      else writeText(stream, `${lineOf(date)}\n`);
    },
    /** Prints the final calendar. */
    end: () => {
      if (live) calendar.show(calendarText(dates, stream));
      else writeText(stream, `${calendarText(dates, stream)}\n`);
    },
  };
}

function lineOf({ date, state, run, error }: BackfillDate): string {
  return [`${date}: ${stateWord(state)}`, run?.run, error].filter(Boolean).join(', ');
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
    return `${markOf(state)} ${count.toLocaleString('en-US')} ${stateWord(state)}`;
  });
  const days = '1   5    10   15   20   25   30';
  return [colors.dim(`         ${days}`), ...rows, `${manyText(dates.length, 'date')}: ${legend.join('  ')}`].join(
    '\n',
  );
}

function stateWord(state: BackfillDate['state']): string {
  return STATES[state].word;
}

interface DateRun {
  run: Run;
  executionArn: string;
  /** Whether this command started it. */
  started: boolean;
}

/** Whether the configured plan is published for a date. A file of another plan does not count. */
async function isPublished(target: Target, entity: Entity, date: string): Promise<boolean> {
  const pointer = await ifReadable(createManifests(target).pointer(entity, date), printErr);
  return pointer !== undefined && pointer.kind !== 'partial';
}

/**
 * The run of a date: one in progress, or a new one. Concurrent commands start only one run, because its name contains
 * the date, and Step Functions starts only one execution of a name.
 * @returns `undefined` if the date is published
 * @throws the reason of the signal, before a run is started
 */
async function runOfDate(
  target: Target,
  entity: Entity,
  date: string,
  signal: AbortSignal,
): Promise<DateRun | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    if (await isPublished(target, entity, date)) return undefined;
    const found = (await runsUnderWay(target, entity)).get(date);
    if (found) return found;
    signal.throwIfAborted();
    const name = `${entity}-backfill-${date}-${attempt}`;
    const executionArn = await startUnlessKnown(target, entity, date, name);
    if (executionArn === undefined) continue;
    const begun = foundRun({ executionArn, startDate: new Date() }, entity, 'export');
    return { run: { ...runOf(begun), date }, executionArn, started: true };
  }
}

/** Exports of an entity that are in progress, by date. */
async function runsUnderWay(target: Target, entity: Entity): Promise<Map<string, DateRun>> {
  const runs = new Map<string, DateRun>();
  for await (const found of executionsOf(target, { running: true, entity })) {
    if (found.what !== 'export') continue;
    const run = await datedRun(target, found);
    runs.set(run.date ?? '', { run, executionArn: found.executionArn, started: false });
  }
  return runs;
}

async function datedRun({ sfn, TimeZone: timeZone }: Target, found: FoundRun): Promise<Run> {
  const { name, executionArn } = found;
  const date = /-backfill-(\d{4}-\d\d-\d\d)-\d+$/.exec(name)?.[1];
  if (date !== undefined) return { ...runOf(found), date };
  const execution = found.execution ?? (await sfn.send(new DescribeExecutionCommand({ executionArn })));
  return runOf({ ...found, execution }, { timeZone });
}

/** `undefined` if a run of this name has ended. If one is in progress with the same input, AWS returns its ARN. */
async function startUnlessKnown(target: Target, entity: Entity, date: string, name: string) {
  try {
    return await startRun(target, entity, { date }, name);
  } catch (error) {
    if (error instanceof Error && error.name === 'ExecutionAlreadyExists') return undefined;
    throw error;
  }
}
