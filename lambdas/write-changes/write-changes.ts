import { advance } from '../../core/changes/chain/advance.ts';
import { feedKey } from '../../core/changes/chain/feed-keys.ts';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import type { Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import type { Answer } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { requestedEntity } from '../../core/step/pacing.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { tableColumnName } from '../../core/table/columns.ts';
import { WHOLE_CORE_MB } from '../../core/whole-core.ts';
import { afterTrouble } from './after-trouble.ts';
import type { FeedObjects } from './feed-objects.ts';
import { s3FeedStore } from './feed-store.ts';

export interface WriteChangesDeps extends Invocation {
  bucket: Bucket;
  objects: FeedObjects;
  softwareVersion: string;
  /** Bytes that may still be put on the function's disk. */
  freeDisk: () => Promise<number>;
}

/** Seconds that are left for the feed's last parts and the answer. */
const MARGIN_SECONDS = 45;

/**
 * Tells what has changed since the table that the last feed ended at. Which run this is does not matter: the newest published
 * table counts, and what others left open is finished first.
 */
export async function writeChanges(state: RunState, deps: WriteChangesDeps): Promise<Answer<'WriteChanges'>> {
  const entity = state.run?.entity ?? requestedEntity(state.input);
  const plan = entity && deps.deployment.entities[entity];
  // The configuration may have lost them since the machine began.
  if (!entity || !plan?.changes || !plan.tables) return { outcome: 'UP_TO_DATE' };
  const { key, ignore = [], maxRemoved } = plan.changes;
  const settings = { key: key.map(tableColumnName), ignore: ignore.map(tableColumnName), maxRemoved };
  const store = s3FeedStore({ ...deps, entity, version: plan.tables.version, onProgress: () => refuseLate(deps) });
  try {
    const record = await advance(store, settings);
    return record ? told(entity, record, deps) : { outcome: 'UP_TO_DATE' };
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

function told(entity: Entity, record: FeedRecord, { log }: WriteChangesDeps): Answer<'WriteChanges'> {
  const { sequence, kind, to, inserts, deletes, updates } = record;
  const key = feedKey(entity, to);
  log.info('changes written', { key });
  return { outcome: 'CHANGES_WRITTEN', feed: { ...to, key, sequence, kind, inserts, deletes, updates } };
}
