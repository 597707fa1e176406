import { join } from 'node:path';
import { pairDigest } from '../../core/changes/chain/advance.ts';
import { baseKey, feedKey, recordKey } from '../../core/changes/chain/feed-keys.ts';
import { recordText } from '../../core/changes/chain/feed-record.ts';
import { BaseGone, type FeedStore, type StandingFeed } from '../../core/changes/chain/feed-store.ts';
import { type FeedEnd, type FeedPair, readHead, writeHead } from '../../core/changes/chain/head.ts';
import { likenessOf, type WrittenFeed, writeFeed } from '../../core/changes/write-feed.ts';
import type { Entity } from '../../core/config/entities.ts';
import { RunError } from '../../core/errors.ts';
import { latestPointerKey, readPointer } from '../../core/export/pointer.ts';
import { type Bucket, writeOver } from '../../core/storage/bucket.ts';
import type { ParquetObject, ParquetObjects } from '../../core/storage/parquet-objects.ts';
import type { EngineLimits } from '../../core/table/engine.ts';
import { standingTable } from '../../core/table/standing-table.ts';
import { tableKey } from '../../core/table/table-key.ts';
import { LocalCopies } from './local-copies.ts';

export interface S3FeedStoreOptions {
  entity: Entity;
  /** Version of the entity's tables. */
  version: number;
  /** Columns of the table whose values are hashes. */
  hashed: readonly string[];
  bucket: Bucket;
  objects: ParquetObjects;
  now: () => Date;
  /** Memory of the function. */
  memoryMB: number;
  /** Free bytes on the function's disk. */
  freeDisk: () => Promise<number>;
  /** Called repeatedly. An error that it throws ends the feed. */
  onProgress: () => void;
}

/** A comparison takes more memory than that of DuckDB's buffers: Node.js and the joins need the rest. */
const SHARE_OF_BUFFERS = 0.6;
const OUTSIDE_BUFFERS_MB = 150;

/** The feeds of an entity in the bucket. Close it, because it keeps files on the disk. */
export function s3FeedStore(options: S3FeedStoreOptions): FeedStore & { close(): Promise<void> } {
  const { entity, bucket, objects, hashed, now, memoryMB, onProgress } = options;
  const copies = new LocalCopies(bucket, onProgress);
  const base = (end: FeedEnd) => localBase({ key: baseKey(entity, end.run), etag: end.etag }, objects, copies);
  const feedPath = async () => join(await copies.folder(), 'changes.parquet');
  const limits = async (): Promise<EngineLimits> => ({
    ...{ bufferMB: memoryMB * SHARE_OF_BUFFERS - OUTSIDE_BUFFERS_MB, onProgress },
    ...{ folder: await copies.folder(), diskBytes: await options.freeDisk() },
  });
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
      const path = await copies.read(table);
      if (path === undefined) return undefined;
      // Another function may have copied a different table of the run meanwhile.
      await objects.put(
        key,
        path,
        { run: encodeURIComponent(execution), table: copied, settings: table.settings },
        standing?.etag,
      );
      const stored = await objects.head(key);
      if (stored?.metadata.table !== copied) return undefined;
      // The copy has the bytes of this table, which are on the disk, even if another function stored it.
      copies.keep({ key, etag: stored.etag }, path);
      return stored.etag;
    },
    likeness: async (from, to) => {
      const isHashed = to.key.some((name) => hashed.includes(name));
      const tables = { before: await base(from), after: await base(to) };
      return likenessOf(tables, { key: to.key, hashed: isHashed }, await limits());
    },
    standingFeed: async (to) => {
      const found = await objects.head(feedKey(entity, to));
      return found && feedOf(found);
    },
    compare: async ({ sequence, kind, byKeys, from, to }) => {
      const before = from && (kind === 'changes' || byKeys) ? await base(from) : null;
      const tables = { before, after: await base(to), feed: await feedPath() };
      const place = { sequence, kind, from, to };
      return writeFeed({ ...tables, key: to.key, ignore: to.ignore, place }, await limits());
    },
    putFeed: async (pair, compared) => putFeed(pair, compared, { entity, objects, path: await feedPath() }),
    putRecord: async (record) => {
      const key = recordKey(entity, record.to);
      const text = recordText(record);
      const standing = await bucket.read(key);
      if (standing?.text === text) return;
      const written = await writeOver(bucket, key, text, standing?.etag);
      // If the answer to a write was lost, the record is already there.
      if (!written && (await bucket.read(key))?.text !== text) throw anotherCame(key);
    },
    close: () => copies.close(),
  };
}

async function newestTable({ entity, version, bucket, objects }: S3FeedStoreOptions) {
  const { run } = await readPointer(bucket, latestPointerKey(entity));
  if (!run || run.kind === 'partial') return undefined;
  const key = tableKey(entity, run.date, version);
  const table = await standingTable(objects, key);
  if (table?.run !== run.execution) return undefined;
  return { ...run, table: { key, etag: table.etag, bytes: table.bytes, settings: table.settings } };
}

/** @throws BaseGone */
async function localBase(
  base: { key: string; etag: string },
  objects: ParquetObjects,
  copies: LocalCopies,
): Promise<string> {
  const known = copies.known(base);
  if (known !== undefined) return known;
  const found = await objects.head(base.key);
  const path = found?.etag === base.etag ? await copies.read({ ...base, bytes: found.bytes }) : undefined;
  if (path === undefined) throw new BaseGone(`The copy of a table at ${base.key} is gone.`);
  return path;
}

/** Stores a feed with its counts as metadata, so that a later run need not compare the tables again. */
async function putFeed(
  pair: FeedPair,
  { changes, keys, gone, unmatched, rows }: WrittenFeed,
  { entity, objects, path }: { entity: Entity; objects: ParquetObjects; path: string },
): Promise<void> {
  const counted = { inserts: changes.insert, deletes: changes.delete, updates: changes.update_postimage };
  const digest = pairDigest(pair);
  const key = feedKey(entity, pair.to);
  const standing = await objects.head(key);
  // Equal pairs of tables give equal feeds. The feed of a pair that was given up is replaced.
  if (standing && feedOf(standing).pair === digest) return;
  const counts = { ...counted, unmatched, keys, gone, rows };
  const metadata = Object.fromEntries(
    Object.entries({ ...counts, pair: digest, settings: pair.to.settings }).map(([name, value]) => [
      name,
      String(value),
    ]),
  );
  if (await objects.put(key, path, metadata, standing?.etag)) return;
  const stored = await objects.head(key);
  if (!stored || feedOf(stored).pair !== digest) throw anotherCame(key);
}

/** The feed in an object. The object of another program has no pair. */
function feedOf({ etag, bytes, metadata }: ParquetObject): StandingFeed {
  const count = (name: string) => Number(metadata[name] ?? 0);
  const changes = { inserts: count('inserts'), deletes: count('deletes'), updates: count('updates') };
  const compared = { unmatched: count('unmatched'), keys: count('keys'), gone: count('gone'), rows: count('rows') };
  return { pair: metadata.pair ?? '', etag, bytes, ...changes, ...compared };
}

/** A transient error: the next attempt reads the current object. */
function anotherCame(key: string): RunError {
  return new RunError('StorageUnavailable', `The object ${key} changed between being read and being replaced.`);
}
