import type { Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { createManifests, ifReadable } from '../data/stored-manifests.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { warnUnsettled } from '../support/deployed-configuration.ts';
import { CommandError, RUN_FAILED, usageError } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { countText, numberText } from '../support/text.ts';
import { startRun } from './executions.ts';
import { executionsOf } from './find-run.ts';
import { followRun } from './follow.ts';
import { type Execution, OUTCOMES, outcomeWord, type Run, runOf } from './run.ts';
import { runForEach, type Together } from './run-for-each.ts';
import { refuseDate, refuseSameData } from './start-run.ts';

interface BackfillOptions extends TargetOptions {
  from: string;
  to: string;
  concurrency: number;
  dryRun?: boolean;
  sameData?: boolean;
  json?: boolean;
}

/**
 * `backfill`: starts one run for each date of a range that is not published, and follows the runs.
 * @throws CommandError: 1 if a date failed, 2 for a range or a plan that cannot be filled, 130 after Ctrl-C
 */
export async function backfill(entity: Entity, options: BackfillOptions): Promise<void> {
  const { from, to, concurrency, sameData } = options;
  const wanted = datesBetween(from, to);
  const target = await connect(options);
  for (const date of [from, to]) refuseDate(target, { date });
  if (sameData) warnUnsettled(target);
  else await refuseSameData(target, [entity], 'under each past date');
  const dates = await datesWithState(target, entity, wanted);
  const print = options.json ? printErr : printOut;
  const say = (date: BackfillDate) => print(dateText(date, STATES[date.state]));
  const more = { from, to, concurrency: String(concurrency) };
  const again = commandFor(`backfill ${entity}${sameData ? ' --same-data' : ''}`, options, more);
  if (options.dryRun) for (const date of dates) say(date);
  else {
    const left = dates.filter(({ state }) => state !== 'published');
    const document = options.json ? { entity, dates } : undefined;
    const fill = ({ date }: BackfillDate, signal: AbortSignal) => fillDate(target, entity, date, signal);
    await fillDates(left, fill, { say, again, atOnce: concurrency, document });
  }
  print(countsText(dates));
  const ok = dates.every(({ state }) => state !== 'failed');
  if (options.json) printJson({ ok, entity, dryRun: options.dryRun === true, dates });
  refuseFailed(dates, 'date', again, { ...options, documented: options.json === true });
}

/** All dates from `from` to `to`, inclusive. @throws CommandError (exit code 2) if `from` is after `to` */
export function datesBetween(from: string, to: string): string[] {
  if (from > to) throw usageError(`--from ${from} is after --to ${to}: nothing was started.`);
  const dates = [from];
  for (let date = from; date < to; dates.push(date)) date = dateAfter(date, 1);
  return dates;
}

async function datesWithState(target: Target, entity: Entity, wanted: string[]): Promise<BackfillDate[]> {
  const there = (await createManifests(target).dates(entity)).filter((date) => wanted.includes(date));
  const full = await eachOf(there, async (date) => ((await isPublished(target, entity, date)) ? [date] : []));
  const published = new Set(full.flat());
  const running = await runsUnderWay(target, entity);
  return wanted.map((date) => {
    const found = running.get(date);
    const run = found ? runOf(found, { timeZone: target.TimeZone }) : null;
    if (published.has(date)) return { date, state: 'published', run: null, error: null };
    return { date, state: run === null ? 'missing' : 'running', run, error: null };
  });
}

/** Fills one date. @returns its changes, in order */
export async function* fillDate(
  target: Target,
  entity: Entity,
  date: string,
  signal: AbortSignal,
): AsyncGenerator<Partial<BackfillDate>> {
  for (let attempt = 1; ; ) {
    if (await isPublished(target, entity, date)) return yield { state: 'published' };
    const found = (await runsUnderWay(target, entity)).get(date);
    const begun = found ?? (await startOf(target, entity, date, attempt, signal));
    if (!begun) {
      // A run of this name has ended. It may have published the date since this command last looked.
      attempt += 1;
      continue;
    }
    yield { state: 'running', run: runOf(begun, { timeZone: target.TimeZone }) };
    const run = await followRun(target.sfn, begun.executionArn, { signal });
    // Only the pointer counts: a run may succeed without publishing a file.
    if (await isPublished(target, entity, date)) return yield { state: 'published', run };
    // A run that this command did not start may have had another plan, so the date still needs its own run.
    if (found) continue;
    const error = run.status === 'SUCCEEDED' ? 'PublishedNothing' : outcomeWord(run);
    return yield { state: 'failed', run, error };
  }
}

type BackfillDate = DatedRun<keyof typeof STATES>;

const STATES = {
  published: OUTCOMES.published.word,
  running: OUTCOMES.running.word,
  failed: OUTCOMES.failed.word,
  missing: 'to do',
};

/** The number of dates in each state: `4 dates: 1 published, 2 under way, 0 failed, 1 to do`. */
function countsText(dates: BackfillDate[]): string {
  const counts = Object.entries(STATES).map(([state, word]) => {
    const count = dates.filter((date) => date.state === state).length;
    return `${numberText(count)} ${word}`;
  });
  return `${countText(dates.length, 'date')}: ${counts.join(', ')}`;
}

/** Whether the configured plan is published for a date. A file of another plan does not count. */
async function isPublished(target: Target, entity: Entity, date: string): Promise<boolean> {
  const pointer = await ifReadable(createManifests(target).pointer(entity, date), printErr);
  return pointer !== undefined && pointer.kind !== 'partial';
}

/**
 * Starts the run of a date. Two commands at once start one run: its name contains the date, and Step Functions answers a
 * second start with the ARN of the running execution of that name.
 * @returns `undefined` if a run of this attempt has ended
 * @throws the reason of the signal, before a run is started
 */
async function startOf(
  target: Target,
  entity: Entity,
  date: string,
  attempt: number,
  signal: AbortSignal,
): Promise<Execution | undefined> {
  signal.throwIfAborted();
  try {
    return await startRun(target, entity, { date }, `${entity}-backfill-${date}-${attempt}`);
  } catch (error) {
    if (error instanceof Error && error.name === 'ExecutionAlreadyExists') return undefined;
    throw error;
  }
}

/** Exports of an entity that are in progress, by date. */
async function runsUnderWay(target: Target, entity: Entity): Promise<Map<string, Execution>> {
  const runs = new Map<string, Execution>();
  for await (const execution of executionsOf(target, { running: true })) {
    const run = runOf(execution, { timeZone: target.TimeZone });
    if (run.what === 'export' && run.entity === entity) runs.set(run.date ?? '', execution);
  }
  return runs;
}

/** The code that `backfill` and `table --outdated` share. Both start one run for each date. */

export interface DatedRun<State extends string> {
  date: string;
  state: State;
  run: Run | null;
  /** The error of the run, or why it published no file. */
  error: string | null;
}

interface Filling<T> extends Omit<Together, 'stopped' | 'after'> {
  /** Prints a date after each change of its state. */
  say: (date: T) => void;
  /** The command that continues after an interruption. */
  again: string;
}

/**
 * Fills the dates, oldest first. An error of AWS for one date ends the others too.
 * @throws CommandError: 130 after Ctrl-C, which stops no run; the error of AWS
 */
export async function fillDates<T extends object>(
  dates: T[],
  fill: (date: T, signal: AbortSignal) => AsyncIterable<Partial<T>>,
  { say, again, ...more }: Filling<T>,
): Promise<void> {
  const fillOne = async (date: T, signal: AbortSignal) => {
    for await (const to of fill(date, signal)) say(Object.assign(date, to));
  };
  const stopped = `Stopped. Runs that are under way continue. To start the other runs: ${again}`;
  const after = `Runs that are under way continue. To start the other runs: ${again}`;
  await runForEach(dates, fillOne, { stopped, after, ...more });
}

/** `2026-03-01: failed, leads-backfill-2026-03-01-1, ExportFailed` @param word for the state of the date */
export function dateText({ date, run, error }: DatedRun<string>, word: string): string {
  return [`${date}: ${word}`, run?.run, error].filter(Boolean).join(', ');
}

/**
 * @param what was to be made for each date, such as a table
 * @throws CommandError (exit code 1) that names the failed dates, if there are any
 */
export function refuseFailed(
  dates: DatedRun<string>[],
  what: string,
  again: string,
  { documented = false, ...place }: TargetOptions & { documented?: boolean },
): void {
  const failed = dates.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return;
  const first = failed.find(({ run }) => run)?.run;
  const lines = [
    `${countText(failed.length, what)} failed:`,
    ...failed.map(({ date, run, error }) => `  ${date}: ${error}${run ? ` (${run.run})` : ''}`),
    ...(first ? [`To see the cause and what to do: ${commandFor(`show ${quoted(first.run)}`, place)}`] : []),
    `To try these dates again: ${again}`,
  ];
  throw new CommandError(lines.join('\n'), RUN_FAILED, { documented });
}
