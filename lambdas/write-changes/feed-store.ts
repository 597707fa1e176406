import { open } from 'node:fs/promises';
import { baseKey, feedKey, recordKey } from '../../core/changes/chain/feed-keys.ts';
import { recordText } from '../../core/changes/chain/feed-record.ts';
import { BaseGone, type FeedStore } from '../../core/changes/chain/feed-store.ts';
import { type FeedEnd, type FeedPair, readHead, writeHead } from '../../core/changes/chain/head.ts';
import type { Judged } from '../../core/changes/chain/mass-deletion.ts';
import { pairDigest } from '../../core/changes/chain/pairs.ts';
import { readTable } from '../../core/changes/table-reader.ts';
import { columnsText, type WrittenFeed, writeFeed } from '../../core/changes/write-feed.ts';
import type { Entity } from '../../core/config/entities.ts';
import { latestPointerKey, readPointer } from '../../core/export/pointer.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { IDENTITY_KEY } from '../../core/table/table-identity.ts';
import { tableKey } from '../../core/table/table-key.ts';
import { type FeedObjects, feedMetadata, feedOf } from './feed-objects.ts';
import { LocalCopies, withFile } from './local-copies.ts';

export interface S3FeedStoreOptions {
  entity: Entity;
  /** Of the entity's tables. */
  version: number;
  bucket: Bucket;
  objects: FeedObjects;
  softwareVersion: string;
  now: () => Date;
  /** Bytes that may still be put on the function's disk. */
  freeDisk: () => Promise<number>;
  /** Called now and then; what it throws ends the feed. */
  onProgress: () => void;
}

/** The feeds of an entity in the bucket; to be closed, for it has files on the disk. */
export function s3FeedStore(options: S3FeedStoreOptions): FeedStore & { close(): Promise<void> } {
  const { entity, bucket, objects, now, onProgress } = options;
  const copies = new LocalCopies(bucket, onProgress);
  const base = ({ run, etag }: FeedEnd) => localBase(baseKey(entity, run), etag, objects, copies);
  return {
    entity,
    now,
    readHead: () => readHead(bucket, entity),
    writeHead: (standing, next) => writeHead(bucket, entity, standing, next),
    newest: () => newestTable(options),
    copyBase: async ({ execution, table }) => {
      const key = baseKey(entity, execution);
      const standing = await objects.head(key);
      const copied = table.etag.replaceAll('"', '');
      if (standing?.metadata.table === copied) return standing.etag;
      const path = await copies.path(table);
      if (path === undefined) return undefined;
      // Whoever was quicker may have copied another table of the run.
      await objects.put(key, path, { run: encodeURIComponent(execution), table: copied }, standing?.etag);
      const now = await objects.head(key);
      if (now?.metadata.table !== copied) return undefined;
      // Whoever stored it: the copy of this table has its bytes, which are here already.
      copies.keep({ key, etag: now.etag }, path);
      return now.etag;
    },
    comparable: async (from, to) => {
      const [before, after] = [await whatIsSaid(await base(from)), await whatIsSaid(await base(to))];
      return before.identity !== undefined && before.identity === after.identity && before.columns === after.columns;
    },
    standingFeed: async (to) => {
      const found = await objects.head(feedKey(entity, to));
      return found && feedOf(found);
    },
    makeFeed: (pair, judge) => makeFeed(pair, judge, { ...options, copies, base }),
    putRecord: async (record) => {
      const key = recordKey(entity, record.to);
      const text = recordText(record);
      if (await bucket.putOnce(key, text)) return;
      const standing = await bucket.read(key);
      if (standing && standing.text !== text) await bucket.replace(key, text, standing.etag);
    },
    close: () => copies.close(),
  };
}

async function newestTable({ entity, version, bucket, objects }: S3FeedStoreOptions) {
  const { run } = await readPointer(bucket, latestPointerKey(entity));
  if (!run || run.kind === 'partial') return undefined;
  const key = tableKey(entity, run.date, version);
  const table = await objects.head(key);
  if (!table || table.metadata.run !== encodeURIComponent(run.execution)) return undefined;
  return { ...run, table: { key, etag: table.etag, bytes: table.bytes } };
}

/** @throws BaseGone */
async function localBase(key: string, etag: string, objects: FeedObjects, copies: LocalCopies): Promise<string> {
  const found = await objects.head(key);
  const path = found?.etag === etag ? await copies.path({ key, etag, bytes: found.bytes }) : undefined;
  if (path === undefined) throw new BaseGone(`The copy of a table at ${key} is gone.`);
  return path;
}

async function whatIsSaid(path: string): Promise<{ identity: string | undefined; columns: string }> {
  return withFile(path, async (file) => {
    const table = await readTable(file);
    return { identity: table.said[IDENTITY_KEY], columns: columnsText(table) };
  });
}

interface Making extends S3FeedStoreOptions {
  copies: LocalCopies;
  base: (end: FeedEnd) => Promise<string>;
}

/** Written on the disk first: what was compared is known at its end, and stands in the metadata, which begin an upload. */
async function makeFeed(pair: FeedPair, judge: (counts: Judged) => void, making: Making): Promise<void> {
  const { entity, objects, copies } = making;
  const path = await copies.place('changes.parquet');
  const { changes, keys, gone, unmatched, rows } = await writeLocally(path, pair, making);
  judge({ keys, gone, unmatched, rows });
  const told = { inserts: changes.insert, deletes: changes.delete, updates: changes.update_postimage };
  const digest = pairDigest(pair);
  const key = feedKey(entity, pair.to);
  const standing = await objects.head(key);
  // Equal pairs make equal feeds; one of a pair that was given back gives way.
  if (standing && feedOf(standing).pair === digest) return;
  await objects.put(key, path, feedMetadata(digest, { ...told, unmatched, keys, gone, rows }), standing?.etag);
}

async function writeLocally(
  path: string,
  pair: FeedPair,
  { softwareVersion, freeDisk, onProgress, base }: Making,
): Promise<WrittenFeed> {
  const { sequence, kind, from, to } = pair;
  const place = { sequence, kind, from, to };
  const before = kind === 'changes' && from ? await base(from) : null;
  const after = await base(to);
  const input = { key: to.key, ignore: to.ignore, place, softwareVersion, diskBytes: await freeDisk(), onProgress };
  const out = await open(path, 'w');
  const write = (old: Parameters<typeof writeFeed>[0]['before']) =>
    withFile(after, (recent) => writeFeed({ ...input, before: old, after: recent }, (bytes) => out.appendFile(bytes)));
  try {
    return before === null ? await write(null) : await withFile(before, write);
  } finally {
    await out.close();
  }
}
