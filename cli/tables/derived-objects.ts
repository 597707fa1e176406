import { feedObjectOfKey } from '../../core/changes/feed-keys.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { settingsDigest } from '../../core/config/settings-digest.ts';
import { eachOf } from '../../core/each-of.ts';
import { datePointerKey } from '../../core/export/pointer.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { tableOfKey } from '../../core/table/stored-table.ts';
import type { Target } from '../support/target.ts';
import { countText } from '../support/text.ts';

export interface DerivedObject {
  entity: Entity;
  kind: 'table' | 'feed' | 'copy';
  key: string;
  /** The date of a table; empty for other kinds. */
  date: string;
  /** When the object was stored. */
  at: Date | undefined;
  /** The action of `table ENTITY --outdated`. It keeps objects that were written under the current column settings. */
  then: 'keep' | 'rewrite' | 'remove';
}

/**
 * All tables, feeds and copies of tables in the bucket, by date. Objects without a digest were written by an earlier
 * release.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export async function derivedObjects(
  { s3, BucketName }: Pick<Target, 's3' | 'BucketName'>,
  { entities }: Pick<Deployment, 'entities'>,
): Promise<DerivedObject[]> {
  const bucket = createBucket(s3, BucketName);
  const listed = [...(await bucket.list('tables/')), ...(await bucket.list('changes/'))];
  const found = await eachOf(listed, async ({ key, at }): Promise<DerivedObject[]> => {
    const table = tableOfKey(key);
    const { entity, kind } = table ? { ...table, kind: 'table' as const } : (feedObjectOfKey(key) ?? {});
    if (entity === undefined || kind === undefined || kind === 'record') return [];
    const head = await bucket.head(key);
    if (!head) return [];
    const plan = entities[entity];
    const isCurrent = head.metadata.settings === settingsDigest(plan);
    // Without a published file of its date, no run can write the table again.
    const isWritten =
      !isCurrent &&
      table !== undefined &&
      plan.tables?.version === table.version &&
      (await bucket.head(datePointerKey(entity, table.date))) !== undefined;
    const then = isCurrent ? 'keep' : isWritten ? 'rewrite' : 'remove';
    return [{ entity, kind, key, date: table?.date ?? '', at, then }];
  });
  return found.flat().sort((a, b) => a.date.localeCompare(b.date));
}

/** The keys of an object. The record of a feed is first: an interrupted removal can then find the feed again. */
export function keysOf({ kind, key }: Pick<DerivedObject, 'kind' | 'key'>): string[] {
  return kind === 'feed' ? [key.replace(/changes\.parquet$/, '_feed.json'), key] : [key];
}

/** The number of published files and of objects of each kind: "2 tables, 1 feed". */
export function countsText(objects: readonly { kind: 'file' | DerivedObject['kind'] }[]): string {
  const words = { file: 'published file', table: 'table', feed: 'feed', copy: 'copied table' };
  const counts = Object.entries(words).flatMap(([kind, word]) => {
    const count = objects.filter((object) => object.kind === kind).length;
    return count > 0 ? [countText(count, word)] : [];
  });
  return counts.join(', ');
}
