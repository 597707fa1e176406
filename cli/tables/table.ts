import { type Command, Option } from 'commander';
import { type Entity, entitySchema } from '../../core/config/entities.ts';
import { notConfiguredText, whyNoTable } from '../../core/table/table-rules.ts';
import { forgottenRun } from '../data/forgotten-run.ts';
import { createManifests, type Manifests } from '../data/manifests.ts';
import { findRun } from '../runs/find-run.ts';
import { readInput } from '../runs/run/input.ts';
import { afterStart, startNamed } from '../runs/start.ts';
import { dateArgument, numberArgument, withExamples } from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';

interface TableOptions extends TargetOptions {
  date?: string;
  wait?: boolean;
  outdated?: boolean;
  dryRun?: boolean;
  concurrency?: number;
}

const MOST_AT_ONCE = 10;

/** Registers `table`. */
export function addTable(command: Command): void {
  command
    .argument(
      '<run>',
      'name, unique end or ARN of a run whose file is published, or an entity: the run of --date, or the latest',
    )
    .option('--date <YYYY-MM-DD>', 'the table of this date, with an entity', dateArgument)
    .option('--wait', 'follow it to its end; Ctrl-C stops following, never the run')
    .addOption(
      new Option(
        '--outdated',
        'with an entity: all its tables that stand under other settings of columns than those that are deployed, a run for each date, followed to their ends',
      ).conflicts('date'),
    )
    .option('--dry-run', 'with --outdated: name the dates, and start nothing')
    .option(
      '--concurrency <number>',
      'with --outdated: runs at the same time; default: 2',
      numberArgument(`A whole number from 1 to ${MOST_AT_ONCE}.`, 1, MOST_AT_ONCE),
    )
    .action(table);
  withExamples(command, {
    'table leads-20261120T020000Z-1a2b3c --deployment prod --wait': 'a run that ended as TableNotWritten',
    'table leads --date 2026-03-01 --deployment prod': 'a date that was published before there were tables',
    'table leads --outdated --deployment prod':
      'after a change of `except` or `hash`, once it is deployed; run it again to go on after a break',
  });
}

async function table(named: string, options: TableOptions): Promise<void> {
  if (options.outdated) return (await import('./write-again.ts')).writeAgain(named, options);
  const alone = options.dryRun ? '--dry-run' : options.concurrency === undefined ? undefined : '--concurrency';
  if (alone !== undefined) throw new CommandError(`${alone} goes with --outdated.`, USAGE);
  const target = await connect(options);
  const manifests = createManifests(target);
  const entity = entitySchema.safeParse(named).data;
  if (!entity && options.date !== undefined)
    throw new CommandError('--date goes with an entity: a run has its own date.', USAGE);
  const chosen = entity
    ? await runOfDate(manifests, entity, options.date ?? 'latest')
    : await runByName(target, manifests, named);
  await judge(target, manifests, chosen);
  const started = await startNamed(target, chosen.entity, { table: { run: chosen.run } }, options);
  printErr(`${started.run} writes the table of ${chosen.run}.`);
  await afterStart(target, [started], options);
}

interface Chosen {
  entity: Entity;
  run: string;
}

async function runOfDate(manifests: Manifests, entity: Entity, date: string): Promise<Chosen> {
  const pointer = await manifests.pointer(entity, date);
  if (pointer) return { entity, run: pointer.execution };
  throw new CommandError(`No file of ${entity} is published${date === 'latest' ? '' : ` for ${date}`}.`, USAGE);
}

/** One that Step Functions has forgotten has its manifest still. */
async function runByName(target: Target, manifests: Manifests, named: string): Promise<Chosen> {
  const found = await findRun(target, named).catch((error: unknown) => {
    if (error instanceof CommandError) return error;
    throw error;
  });
  if (!(found instanceof CommandError) && found.entity) {
    // A run that writes a table, or releases a file, has no file of its own.
    return { entity: found.entity, run: readInput(found.execution?.input).of ?? found.name };
  }
  const forgotten = await forgottenRun(manifests, named);
  if (forgotten) return { entity: forgotten.manifest.entity, run: forgotten.manifest.execution };
  if (found instanceof CommandError) throw found;
  throw new CommandError(`The input of ${found.name} names no entity, so it has no table.`, USAGE);
}

/** @throws CommandError (exit code 2) where WriteTable would refuse it */
async function judge(target: Target, manifests: Manifests, { entity, run }: Chosen): Promise<void> {
  const { entities } = await deployedConfiguration(target);
  if (!entities[entity].tables) throw new CommandError(notConfiguredText(entity), USAGE);
  const manifest = (await manifests.manifestOfRun(entity, run))?.manifest;
  const why = whyNoTable(run, manifest, manifest && (await manifests.pointer(entity, manifest.date)));
  if (why !== undefined) throw new CommandError(why, USAGE);
}
