import { HeadObjectCommand } from '@aws-sdk/client-s3';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { isGone, storageError } from '../../core/storage/storage-errors.ts';
import { SETTINGS_KEY, settingsDigest } from '../../core/table/settings-digest.ts';
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
  const found = await eachOf(tables, async ({ entity, date, version, key }): Promise<StandingTable[]> => {
    const plan = entities[entity];
    const digest = await digestOf(target, key);
    if (digest === undefined) return [];
    const current = plan.tables !== undefined && digest === settingsDigest(plan);
    const lags = plan.tables?.version === version ? (digest === '' ? 'unknown' : 'other') : 'left';
    return [{ entity, date, key, settings: current ? 'today' : lags }];
  });
  return found.flat().sort((a, b) => (a.date < b.date ? -1 : 1));
}

/** '' where the table has none; `undefined` where it is gone. */
async function digestOf({ s3, BucketName: Bucket }: TablesBucket, Key: string): Promise<string | undefined> {
  try {
    const { Metadata = {} } = await s3.send(new HeadObjectCommand({ Bucket, Key }));
    return Metadata[SETTINGS_KEY] ?? '';
  } catch (error) {
    if (isGone(error)) return undefined;
    throw storageError(error, 'read', Key);
  }
}
