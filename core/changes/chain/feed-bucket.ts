import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod/mini';
import type { Entity } from '../../config/entities.ts';
import { RunError } from '../../errors.ts';
import { LAYOUT } from '../../export/layout.ts';
import { latestPointerKey, readPointer } from '../../export/pointer.ts';
import { canonicalText, parseJson, sha256Of, strictText } from '../../json.ts';
import { tableValue } from '../../readers/reader-access.ts';
import { type Bucket, type ObjectHead, writeOver } from '../../storage/bucket.ts';
import { objectSource } from '../../storage/read-object.ts';
import type { UploadBucket } from '../../storage/upload.ts';
import type { EngineLimits } from '../../table/engine.ts';
import { asMetadata, tableKey, tableOfRun } from '../../table/stored-table.ts';
import { baseKey, feedKey, recordKey } from '../feed-keys.ts';
import { type WrittenFeed, writeFeed } from '../write-feed.ts';
import { feedRecordSchema } from './feed-record.ts';
import {
  type FeedDraft,
  type FeedEnd,
  type FeedHead,
  type FeedPair,
  readHead,
  type StandingHead,
  writeHead,
} from './head.ts';

export interface FeedBucketOptions extends EngineLimits {
  entity: Entity;
  /** Version of the entity's tables. */
  version: number;
  /** Digest of today's column settings. */
  settings: string;
  /** Columns of the table that identify a row, and columns that are not compared. */
  key: string[];
  ignore: string[];
  bucket: UploadBucket;
  now: () => Date;
}

/** The table of the newest published run. */
export interface NewestTable {
  /** The end of a feed at this table, as the head stores it, without the copy. */
  end: Omit<FeedEnd, 'etag'>;
  table: { key: string; etag: string; bytes: number };
}

export type FeedStore = ReturnType<typeof feedBucket>;

/**
 * The feeds of an entity in the bucket. Every method throws RunError `StorageConflict`, `StorageDenied` or
 * `StorageUnavailable`. Methods that read tables throw TableError as well.
 * @param write compares two tables on the disk; only tests without an engine replace it
 */
export function feedBucket(options: FeedBucketOptions, write = writeFeed) {
  const { entity, bucket, folder, now } = options;
  /** Versions of objects on the disk. */
  const copies = new Map<string, string>();
  const copyOf = localCopies(copies, options);
  const path = join(folder, 'changes.parquet');
  const base = async ({ run, etag }: FeedEnd) => {
    const key = baseKey(entity, run);
    const copied = copies.get(versionOf(key, etag));
    const found = copied === undefined ? await bucket.head(key) : undefined;
    return copied ?? (found?.etag === etag ? copyOf({ key, ...found }) : undefined);
  };
  const compare = comparing(path, base, options, write);
  return {
    entity,
    now,
    readHead: () => readHead(bucket, entity),
    /** `false` if another function has written the head first. */
    writeHead: (standing: StandingHead, next: FeedHead) => writeHead(bucket, entity, standing, next),
    /** `undefined` if the newest run is partial, or has no table of today's column settings. */
    newest: () => newestTable(options),
    /**
     * Copies the table to the base of its run. A copy of an older table of the run is replaced: no feed has ended at it.
     * @returns the ETag of the copy; `undefined` if the table has changed
     */
    copyBase: async ({ end: { run, settings }, table }: NewestTable): Promise<string | undefined> => {
      const key = baseKey(entity, run);
      const standing = await bucket.head(key);
      const copied = table.etag.replaceAll('"', '');
      if (standing?.metadata.table === copied) return standing.etag;
      const local = await copyOf(table);
      if (local === undefined) return undefined;
      // Another function may have copied a different table of the run in the meantime.
      const metadata = asMetadata({ run, settings, table: copied });
      await bucket.putParquet(key, local, { metadata }, standing?.etag);
      const stored = await bucket.head(key);
      if (stored?.metadata.table !== copied) return undefined;
      // The copy has the bytes of this table, which are on the disk, even if another function stored it.
      copies.set(versionOf(key, stored.etag), local);
      return stored.etag;
    },
    compare,
    /**
     * Stores the feed of a pair, then its record, unless both exist already. It replaces a feed of a former chain.
     * @returns `false` if the comparison gives no feed of this kind any more
     */
    storeFeed: async (pair: FeedPair): Promise<boolean> => {
      const { kind, to } = pair;
      const key = feedKey(entity, to);
      const digest = pairDigest(pair);
      let stored = await bucket.head(key);
      if (stored?.metadata.pair !== digest) {
        // A snapshot needs no copy of the earlier table: its rows do not depend on it, and the pair has its counts.
        if ((await compare(pair, kind === 'snapshot'))?.kind !== kind) return false;
        const metadata = { pair: digest, settings: to.settings };
        await bucket.putParquet(key, path, { metadata, tag: tableValue(entity, to.settings) }, stored?.etag);
        stored = await bucket.head(key);
      }
      if (stored?.metadata.pair !== digest) throw anotherCame(key);
      await putRecord(bucket, entity, pair, stored);
      return true;
    },
    readRecord: async (to: FeedEnd) => parseJson(feedRecordSchema, (await bucket.read(recordKey(entity, to)))?.text),
  };
}

/** Identifies a pair in the metadata of its feed: 32 hexadecimal digits. */
function pairDigest({ sequence, kind, from, to, released }: FeedPair): string {
  return sha256Of({ sequence, kind, from, to, released }, 32);
}

/**
 * Compares the copies of two tables and writes the feed to the path `feed`. A second call for the same pair returns the
 * same feed. Without a copy of `from`, the feed is a snapshot. The comparison is `undefined` without a copy of `to`, or
 * if `to` has other column settings than today's.
 */
function comparing(
  feed: string,
  base: (end: FeedEnd) => Promise<string | undefined>,
  options: FeedBucketOptions,
  write: typeof writeFeed,
) {
  let last: { of: string; made: WrittenFeed } | undefined;
  return async ({ sequence, from, to }: FeedDraft, asSnapshot: boolean): Promise<WrittenFeed | undefined> => {
    const place = { sequence, from, to };
    if (last?.of === canonicalText({ place, asSnapshot })) return last.made;
    last = undefined;
    // The feed of a table with earlier settings would have columns that are left out or hashed today.
    const after = to.settings === options.settings ? await base(to) : undefined;
    if (after === undefined) return undefined;
    const before = (from && (await base(from))) ?? null;
    const made = await write({ ...place, before, after, feed, asSnapshot }, options);
    last = { of: canonicalText({ place, asSnapshot: made.kind === 'snapshot' }), made };
    return made;
  };
}

async function putRecord(bucket: Bucket, entity: Entity, pair: FeedPair, feed: ObjectHead): Promise<void> {
  const { to, counts } = pair;
  const key = recordKey(entity, to);
  const facts = { ...pair, ...counts, key: to.key, ignore: to.ignore, settings: to.settings, feed };
  const record = z.parse(feedRecordSchema, { schemaVersion: LAYOUT, entity, ...facts });
  const text = strictText(feedRecordSchema, record);
  const standing = await bucket.read(key);
  if (standing?.text === text) return;
  const written = await writeOver(bucket, key, text, standing?.etag, tableValue(entity, to.settings));
  // If the answer to a write was lost, the text is already there.
  if (!written && (await bucket.read(key))?.text !== text) throw anotherCame(key);
}

async function newestTable(options: FeedBucketOptions): Promise<NewestTable | undefined> {
  const { entity, version, settings, key, ignore, bucket } = options;
  const newest = (await readPointer(bucket, latestPointerKey(entity))).run;
  if (!newest || newest.kind === 'partial') return undefined;
  const { execution: run, date, startedAt, kind } = newest;
  const table = await tableOfRun(bucket, tableKey(entity, date, version), { run, settings });
  return table && { end: { run, date, startedAt, kind, key, ignore, settings }, table };
}

const versionOf = (key: string, etag: string) => `${etag} ${key}`;

/** Copies objects to the disk, each version once. A copy is `undefined` if the object was removed or replaced. */
function localCopies(copies: Map<string, string>, { bucket, folder, onProgress }: FeedBucketOptions) {
  async function* chunksOf(key: string, etag: string, size: number): AsyncGenerator<Uint8Array> {
    let read = 0;
    for await (const chunk of objectSource(bucket, key, size, { etag, onProgress }).read(0, size)) {
      read += chunk.byteLength;
      yield chunk;
    }
    // An error page of a proxy must not become the copy of a table.
    if (read !== size) throw new RunError('StorageUnavailable', `S3 returned ${read} bytes of ${key}, not ${size}.`);
  }
  return async ({ key, etag, bytes }: { key: string; etag: string; bytes: number }): Promise<string | undefined> => {
    const version = versionOf(key, etag);
    const path = copies.get(version) ?? join(folder, `${copies.size}.parquet`);
    if (copies.has(version)) return path;
    try {
      await writeFile(path, chunksOf(key, etag, bytes));
    } catch (error) {
      if (error instanceof RunError && error.name === 'StorageConflict') return undefined;
      throw error;
    }
    copies.set(version, path);
    return path;
  };
}

/** A transient error: the next attempt reads the current object. */
function anotherCame(key: string): RunError {
  return new RunError('StorageUnavailable', `The object ${key} was changed between the read and the write.`);
}
