import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import type { Entity } from '../../core/config/entities.ts';
import { entitySchema } from '../../core/config/entity-schema.ts';
import { eachOf } from '../../core/each-of.ts';
import { storageError } from '../../core/storage/storage-errors.ts';
import { noTableReason, notConfiguredText } from '../../core/table/table-run.ts';
import { createManifests, ifReadable, type Manifests } from '../data/stored-manifests.ts';
import { type DatedRun, dateText, fillDates, refuseFailed } from '../runs/backfill.ts';
import { startRun } from '../runs/executions.ts';
import { findRun } from '../runs/find-run.ts';
import { followRun } from '../runs/follow.ts';
import { outcomeWord } from '../runs/run.ts';
import { afterStart, startNamed } from '../runs/start-run.ts';
import { commandFor } from '../support/command-options.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { usageError } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { countsText, type DerivedObject, derivedObjects, keysOf } from './derived-objects.ts';

interface TableOptions extends TargetOptions {
  date?: string;
  wait?: boolean;
  outdated?: boolean;
  dryRun?: boolean;
}

/**
 * `table`: starts a run that writes the table of a published file, without a new export.
 * @throws CommandError (exit code 2) if WriteTable would refuse the run
 */
export async function table(named: string, options: TableOptions): Promise<void> {
  if (options.outdated) return writeAgain(named, options);
  if (options.dryRun) throw usageError('--dry-run needs --outdated.');
  const target = await connect(options);
  const manifests = createManifests(target);
  const entity = entitySchema.safeParse(named).data;
  if (!entity && options.date !== undefined) throw usageError('--date needs an entity: a run has its own date.');
  const chosen = entity ? await runOfDate(manifests, entity, options.date ?? 'latest') : await runByName(target, named);
  const { run } = chosen;
  const { entities } = await deployedConfiguration(target);
  if (!entities[chosen.entity].tables) throw usageError(notConfiguredText(chosen.entity));
  const manifest = await manifests.manifestOfRun(chosen.entity, run);
  const why = noTableReason(run, manifest, manifest && (await manifests.pointer(chosen.entity, manifest.run.date)));
  if (why !== undefined) throw usageError(why);
  const started = await startNamed(target, chosen.entity, { table: { run } }, options);
  printErr(`${started.name} writes the table of ${run}.`);
  await afterStart(target, [started], options);
}

async function runOfDate(manifests: Manifests, entity: Entity, date: string) {
  const pointer = await manifests.pointer(entity, date);
  if (pointer) return { entity, run: pointer.execution };
  throw usageError(`No file of ${entity} is published${date === 'latest' ? '' : ` for ${date}`}.`);
}

async function runByName(target: Target, named: string) {
  const found = await findRun(target, named);
  const { entity, of } = found.input;
  if (!entity) throw usageError(`The input of ${found.name} names no entity, so the run has no table.`);
  // A run that writes a table, or releases a file, has no file of its own.
  return { entity, run: of ?? found.name };
}

/** Number of tables that are written at the same time. */
const AT_ONCE = 2;

/**
 * Replaces everything that was written under other column settings. Removes feeds and copied tables, so that the next
 * feed is a snapshot, and tables that no run can write again. Rewrites other tables, oldest first, and follows runs.
 * @throws CommandError: 1 if a table is not written, 2 if the entity has no tables, 130 after Ctrl-C (runs continue)
 */
async function writeAgain(named: string, options: TableOptions): Promise<void> {
  const entity = entitySchema.safeParse(named).data;
  if (!entity) throw usageError('--outdated needs an entity: it checks the tables of all dates.');
  const target = await connect(options);
  const deployed = await deployedConfiguration(target);
  const found = (await derivedObjects(target, deployed)).filter((object) => object.entity === entity);
  if (found.length === 0 && !deployed.entities[entity].tables) throw usageError(notConfiguredText(entity));
  const removed = found.filter(({ then }) => then === 'remove');
  const dates = found.flatMap(({ then, date }): OutdatedDate[] =>
    then === 'rewrite' ? [{ date, state: 'outdated', run: null, error: null }] : [],
  );
  if (removed.length + dates.length === 0)
    return printOut(`All tables, feeds and copied tables of ${entity} were written under the current column settings.`);
  if (!options.dryRun) await remove(target, removed);
  if (removed.length > 0) printOut(`${options.dryRun ? 'To be removed' : 'Removed'}: ${countsText(removed)}`);
  const say = (date: OutdatedDate) => printOut(dateText(date, date.state));
  const again = commandFor(`table ${entity} --outdated`, options);
  const write = async function* ({ date }: OutdatedDate, signal: AbortSignal) {
    yield await written(target, entity, date, signal);
  };
  if (options.dryRun) for (const date of dates) say(date);
  else await fillDates(dates, write, { say, again, atOnce: AT_ONCE });
  refuseFailed(dates, 'table', again, options);
}

/** A date whose table was written under other settings than the deployed ones. */
type OutdatedDate = DatedRun<'outdated' | 'written' | 'failed'>;

/** @throws RunError `StorageDenied` or `StorageUnavailable` */
async function remove({ s3, BucketName: Bucket }: Target, objects: DerivedObject[]): Promise<void> {
  await eachOf(objects, async (object) => {
    for (const Key of keysOf(object)) {
      await s3.send(new DeleteObjectCommand({ Bucket, Key })).catch((error: unknown) => {
        throw storageError(error, 'write', Key);
      });
    }
  });
}

/** Writes the table of a date again. */
async function written(
  target: Target,
  entity: Entity,
  date: string,
  signal: AbortSignal,
): Promise<Partial<OutdatedDate>> {
  const pointer = await ifReadable(createManifests(target).pointer(entity, date), printErr);
  if (!pointer) return { state: 'failed', error: 'NothingPublished' };
  const { executionArn } = await startRun(target, entity, { table: { run: pointer.execution } });
  const run = await followRun(target.sfn, executionArn, { signal });
  if (run.outcome === 'table') return { state: 'written', run };
  return { state: 'failed', run, error: run.outcome === 'replaced' ? 'Superseded' : outcomeWord(run) };
}
