import { advanceChain } from '../../core/changes/chain/advance-chain.ts';
import { feedBucket } from '../../core/changes/chain/feed-bucket.ts';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { feedKey } from '../../core/changes/feed-keys.ts';
import type { Entity } from '../../core/config/entities.ts';
import { settingsDigest } from '../../core/config/settings-digest.ts';
import type { Answer } from '../../core/step/export-run.ts';
import { requestedEntity } from '../../core/step/run-input.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { UploadBucket } from '../../core/storage/upload.ts';
import { inFolder } from '../../core/table/engine.ts';
import { afterTrouble, refuseLate } from '../../core/table/not-written.ts';
import { tableColumnName } from '../../core/table/table-columns.ts';
import { tableRunOf } from '../../core/table/table-run.ts';

export interface WriteChangesDeps extends Invocation {
  bucket: UploadBucket;
}

/** A comparison takes more memory than DuckDB's buffers: Node.js and the joins need the rest. */
const SHARE_OF_BUFFERS = 0.6;
const OUTSIDE_BUFFERS_MB = 150;

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
  const columns = { key: key.map(tableColumnName), ignore: ignore.map(tableColumnName) };
  const tables = { entity, version: plan.tables.version, settings: settingsDigest(plan), ...columns };
  const bufferMB = deps.deployment.tableMemoryMB * SHARE_OF_BUFFERS - OUTSIDE_BUFFERS_MB;
  const onProgress = () => refuseLate(deps, 'for both tables');
  try {
    const record = await inFolder('feed-', (folder) =>
      advanceChain(feedBucket({ ...deps, ...tables, bufferMB, folder, onProgress }), tableRunOf(state), maxRemoved),
    );
    return record ? answerOf(entity, record, deps) : { outcome: 'UP_TO_DATE' };
  } catch (error) {
    return afterTrouble(error, state, deps, { name: 'ChangesNotWritten', what: 'The feed of changes' });
  }
}

function answerOf(entity: Entity, record: FeedRecord, { log }: WriteChangesDeps): Answer<'WriteChanges'> {
  const { sequence, kind, to, inserts, deletes, updates } = record;
  const key = feedKey(entity, to);
  log.info('changes written', { key });
  return { outcome: 'CHANGES_WRITTEN', feed: { ...to, key, sequence, kind, inserts, deletes, updates } };
}
