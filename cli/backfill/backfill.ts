import type { Command } from 'commander';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { createManifests } from '../data/manifests.ts';
import { refuseDate } from '../runs/export-date.ts';
import {
  commandFor,
  dateArgument,
  entitiesArgument,
  numberArgument,
  quoted,
  withExamples,
} from '../support/command-options.ts';
import { warnUnsettled } from '../support/deployed-configuration.ts';
import { partialFailure } from '../support/ended.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import type { BackfillDate } from './calendar.ts';
import { isPublished, runsUnderWay } from './date-run.ts';
import { fillDates } from './fill-dates.ts';
import { datesBetween, refuseSameData } from './refusals.ts';
import { createCalendarScreen } from './screen.ts';

interface BackfillOptions extends TargetOptions {
  from: string;
  to: string;
  concurrency: number;
  dryRun?: boolean;
  sameData?: boolean;
  json?: boolean;
}

const MOST_AT_ONCE = 10;

/** Registers `backfill`. */
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
  else await refuseSameData(target, entity);
  const dates = await knownDates(target, entity, wanted);
  if (!options.dryRun) await fill(target, entity, dates, options);
  else createCalendarScreen(dates, streamOf(options)).end();
  print(entity, dates, options);
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

/** @throws CommandError (exit code 1) where a date failed */
function print(entity: Entity, dates: BackfillDate[], options: BackfillOptions): void {
  const { json = false, dryRun = false } = options;
  const failed = dates.filter(({ state }) => state === 'failed');
  if (json) process.stdout.write(`${JSON.stringify({ ok: failed.length === 0, entity, dryRun, dates })}\n`);
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
