import { advance } from '../../core/changes/chain/advance.ts';
import { feedKey } from '../../core/changes/chain/feed-keys.ts';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { FEED_DISK_MB } from '../../core/changes/feed-entities.ts';
import { FeedError } from '../../core/changes/feed-error.ts';
import type { Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import { type Answer, lateTry, waitFor } from '../../core/step/export-run.ts';
import { requestedEntity } from '../../core/step/run-input.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import type { ParquetObjects } from '../../core/storage/parquet-objects.ts';
import { tableColumnName } from '../../core/table/table-columns.ts';
import { WHOLE_CORE_MB } from '../../core/whole-core.ts';
import { s3FeedStore } from './feed-bucket.ts';

export interface WriteChangesDeps extends Invocation {
  bucket: Bucket;
  objects: ParquetObjects;
  /** Free bytes on the function's disk. */
  freeDisk: () => Promise<number>;
}

/** Seconds that are reserved for the upload of the feed and the answer. */
const MARGIN_SECONDS = 45;
/** Errors that already have a name for the end of the feed. */
const OWN = ['ChangesStopped', 'ChangesNotWritten', 'InvalidInput'];

/**
 * Writes the changes since the table at which the last feed ended. The newest published table counts, regardless of
 * the run. A feed that another function left unfinished is finished first.
 */
export async function writeChanges(state: RunState, deps: WriteChangesDeps): Promise<Answer<'WriteChanges'>> {
  const entity = state.run?.entity ?? requestedEntity(state.input);
  const plan = entity && deps.deployment.entities[entity];
  // A deployment may have removed the feeds since the execution began.
  if (!entity || !plan?.changes || !plan.tables) return { outcome: 'UP_TO_DATE' };
  const { key, ignore = [], maxRemoved } = plan.changes;
  const { version, hash = [] } = plan.tables;
  const settings = { key: key.map(tableColumnName), ignore: ignore.map(tableColumnName), maxRemoved };
  const tables = { entity, version, hashed: hash.map(tableColumnName), memoryMB: deps.deployment.tableMemoryMB };
  const store = s3FeedStore({ ...deps, ...tables, onProgress: () => refuseLate(deps) });
  try {
    const record = await advance(store, settings);
    return record ? answerOf(entity, record, deps) : { outcome: 'UP_TO_DATE' };
  } catch (error) {
    return afterTrouble(error, state, deps);
  } finally {
    await store.close();
  }
}

/** @throws RunError `ChangesNotWritten` */
function refuseLate({ secondsLeft, deployment }: Pick<Invocation, 'secondsLeft' | 'deployment'>): void {
  if (secondsLeft() >= MARGIN_SECONDS) return;
  const what = 'The feed of changes is not written: one invocation was not enough for both tables';
  const how = `More memory is a larger share of a CPU, up to ${WHOLE_CORE_MB} MB: tableMemoryMB is ${deployment.tableMemoryMB}`;
  throw new RunError(
    'ChangesNotWritten',
    `${what}. ${how}. Without some columns it takes less: \`tables.except\` leaves them out.`,
  );
}

function answerOf(entity: Entity, record: FeedRecord, { log }: WriteChangesDeps): Answer<'WriteChanges'> {
  const { sequence, kind, to, inserts, deletes, updates } = record;
  const key = feedKey(entity, to);
  log.info('changes written', { key });
  return { outcome: 'CHANGES_WRITTEN', feed: { ...to, key, sequence, kind, inserts, deletes, updates } };
}

/**
 * Retries a transient error until the deadline and a little longer. Every other error that prevents a feed gets one
 * name, because file and table are published.
 * @throws RunError `ChangesNotWritten`, `ChangesStopped`; any error that is a bug
 */
function afterTrouble(error: unknown, state: RunState, invocation: Invocation): Answer<'WriteChanges'> {
  if (error instanceof FeedError) throw notWritten(error);
  if (isDiskFull(error))
    throw notWritten(new Error(`The tables do not fit on the function's disk of ${FEED_DISK_MB} MB.`));
  if (!(error instanceof RunError) || OWN.includes(error.name)) throw error;
  if (!error.transient) throw notWritten(error);
  // `asStep` waits until the deadline.
  if (waitFor(state, invocation)) throw error;
  const later = lateTry(error, state, invocation);
  if (later) return later;
  throw notWritten(error);
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC';
}

function notWritten(why: Error): RunError {
  return new RunError('ChangesNotWritten', `The feed of changes is not written. ${why.message}`, { cause: why });
}
