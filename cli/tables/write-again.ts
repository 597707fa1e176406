import type { Deployment } from '../../core/config/deployment.ts';
import { type Entity, entitySchema } from '../../core/config/entities.ts';
import { notConfiguredText } from '../../core/table/table-rules.ts';
import { createManifests, unlessEarlier } from '../data/manifests.ts';
import { followRun, startRun } from '../runs/executions.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { partialFailure } from '../support/ended.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { together } from '../support/together.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { standingTables } from './standing-tables.ts';

export interface AgainOptions extends TargetOptions {
  concurrency?: number;
  dryRun?: boolean;
}

/** A date whose table stands under other settings than those that are deployed. */
interface OutdatedDate {
  date: string;
  state: 'outdated' | 'written' | 'failed';
  /** The execution that writes it. */
  run: string | null;
  error: string | null;
}

/** Runs at the same time, unless a person says otherwise. */
const AT_ONCE = 2;

/**
 * Writes the tables of an entity again that stand under other settings than today's, or unknown ones: one run for each date, oldest
 * first, each followed to its end.
 * @throws CommandError: 1 where one is not written, 2 where the entity has no tables, 130 after Ctrl-C (the runs go on)
 */
export async function writeAgain(named: string, options: AgainOptions): Promise<void> {
  const entity = entitySchema.safeParse(named).data;
  if (!entity)
    throw new CommandError('--outdated goes with an entity: the tables of all its dates are looked at.', USAGE);
  const target = await connect(options);
  const deployed = await deployedConfiguration(target);
  if (!deployed.entities[entity].tables) throw new CommandError(notConfiguredText(entity), USAGE);
  const dates = await outdatedDates(target, deployed, entity);
  if (!options.dryRun)
    await untilInterrupted(stoppedText(entity, options), (signal) =>
      write(target, entity, dates, { ...options, signal }),
    );
  else for (const date of dates) say(date);
  finish(entity, dates, options);
}

async function outdatedDates(
  target: Target,
  plans: Pick<Deployment, 'entities'>,
  entity: Entity,
): Promise<OutdatedDate[]> {
  const tables = (await standingTables(target, plans)).filter((table) => table.entity === entity);
  const lagging = tables.filter(({ settings }) => settings === 'other' || settings === 'unknown');
  return lagging.map(({ date }) => ({ date, state: 'outdated', run: null, error: null }));
}

interface WriteOptions extends AgainOptions {
  signal: AbortSignal;
}

async function write(target: Target, entity: Entity, dates: OutdatedDate[], options: WriteOptions): Promise<void> {
  const { signal, concurrency = AT_ONCE } = options;
  const writeOne = async (date: OutdatedDate, either: AbortSignal) => {
    // What one run was refused ends the others too: nothing more is started.
    either.throwIfAborted();
    await writeDate(target, entity, date, either);
    say(date);
  };
  try {
    await together(dates, writeOne, { signal, atOnce: concurrency });
  } catch (error) {
    if (signal.aborted) throw error;
    throw partialFailure(error, againText(entity, options));
  }
}

/** Changes the date in place. */
async function writeDate(target: Target, entity: Entity, date: OutdatedDate, signal: AbortSignal): Promise<void> {
  const pointer = await unlessEarlier(createManifests(target).pointer(entity, date.date), printErr);
  const fail = (error: string) => void Object.assign(date, { state: 'failed', error });
  if (!pointer) return fail('NothingPublished');
  const executionArn = await startRun(target, entity, { table: { run: pointer.execution } });
  date.run = executionArn.split(':').at(-1) ?? null;
  const { status, error, table } = await followRun(target.sfn, entity, executionArn, { signal });
  if (status !== 'SUCCEEDED') return fail(error ?? status ?? 'unknown');
  if (!table) return fail('Superseded');
  date.state = 'written';
}

function say({ date, state, run, error }: OutdatedDate): void {
  printOut([`${date}: ${state}`, run, error].filter(Boolean).join(', '));
}

/** @throws CommandError (exit code 1) where a table was not written */
function finish(entity: Entity, dates: OutdatedDate[], options: AgainOptions): void {
  const failed = dates.filter(({ state }) => state === 'failed');
  if (dates.length === 0) printOut(`All tables of ${entity} stand under today's settings.`);
  if (failed.length === 0) return;
  const named = failed.map(({ date, run, error }) => `  ${date}: ${error}${run === null ? '' : ` (${run})`}`);
  const lines = [
    `${manyText(failed.length, 'table')} could not be written:`,
    ...named,
    `Why, and what helps: ${commandFor(`show ${quoted(failed[0]?.run ?? entity)}`, options)}`,
    againText(entity, options),
  ];
  throw new CommandError(lines.join('\n'), RUN_FAILED);
}

function stoppedText(entity: Entity, options: AgainOptions): string {
  return `Stopped: no more runs are started, and those that are under way go on. ${againText(entity, options)}`;
}

function againText(entity: Entity, options: AgainOptions): string {
  return `To go on: ${commandFor(`table ${entity} --outdated`, options)}`;
}
