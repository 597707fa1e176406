import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { parquetObjects } from '../../core/storage/parquet-objects.ts';
import { settingsDigest } from '../../core/table/settings-digest.ts';
import { tableOfKey } from '../../core/table/table-key.ts';
import type { Target } from '../support/target.ts';

type TablesBucket = Pick<Target, 's3' | 'BucketName'>;

/** A table in the bucket, and what is known of the settings that it was written under. */
export interface StandingTable {
  entity: Entity;
  date: string;
  key: string;
  /**
   * `today`: those that are deployed; `other`; `unknown`: an earlier release wrote it; `left`: other ones, and nothing writes it
   * again, because its entity has no tables by now or another version of them.
   */
  settings: 'today' | 'other' | 'unknown' | 'left';
}

/**
 * All tables of the bucket, oldest date first.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function standingTables(
  target: TablesBucket,
  { entities }: Pick<Deployment, 'entities'>,
): Promise<StandingTable[]> {
  const listed = await createBucket(target.s3, target.BucketName).list('tables/');
  const tables = listed.flatMap(({ key }) => {
    const table = tableOfKey(key);
    return table ? [{ ...table, key }] : [];
  });
  const objects = parquetObjects(target.s3, target.BucketName);
  const found = await eachOf(tables, async ({ entity, date, version, key }): Promise<StandingTable[]> => {
    const plan = entities[entity];
    const head = await objects.head(key);
    if (!head) return [];
    const { settings: digest = '' } = head.metadata;
    const current = plan.tables !== undefined && digest === settingsDigest(plan);
    const lags = plan.tables?.version === version ? (digest === '' ? 'unknown' : 'other') : 'left';
    return [{ entity, date, key, settings: current ? 'today' : lags }];
  });
  return found.flat().sort((a, b) => (a.date < b.date ? -1 : 1));
}
