import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { RunError } from '../../core/errors.ts';
import type { UploadBucket } from '../../core/storage/upload.ts';

interface Options {
  objects?: Record<string, string | Uint8Array>;
  /** Called before each operation; may throw, or change the bucket as another process would. */
  before?: (operation: Operation, key: string) => void | Promise<void>;
  /** Called after each chunk of a stream. It may throw, as a broken connection does. */
  streamed?: (key: string) => void;
  /** The chunk size of `stream`, in bytes. */
  chunkBytes?: number;
  /** The time of every object, for listings and reads. */
  writtenAt?: Date | undefined;
}

type Operation = keyof UploadBucket;

/** A bucket in memory with S3's conditions: writes once, replaces by ETag, has no part after an object's end. */
export function fakeBucket({
  objects = {},
  before = () => {},
  chunkBytes = 64 * 1024,
  streamed = () => {},
  writtenAt,
}: Options = {}) {
  const stored = new Map<string, Uint8Array>();
  /** `operation key`, in order, including operations that `before` made fail. */
  const calls: string[] = [];
  /** The tag of each object that has one, as `name=value`. */
  const tags = new Map<string, string>();
  const metadata = new Map<string, Record<string, string>>();
  const etagOf = (bytes: Uint8Array) => `"${createHash('md5').update(bytes).digest('hex')}"`;
  const put = (key: string, body: string | Uint8Array, about: Record<string, string> = {}) => {
    stored.set(key, Buffer.from(body));
    metadata.set(key, about);
  };
  /** Whether an object has the ETag that a write replaces. Without an ETag, the object must not exist. */
  const isAsRead = (key: string, etag: string | undefined) => {
    const standing = stored.get(key);
    return etag === (standing && etagOf(standing));
  };
  for (const [key, body] of Object.entries(objects)) put(key, body);
  const begin = async (operation: Operation, key: string) => {
    calls.push(`${operation} ${key}`);
    await before(operation, key);
  };

  const bucket: UploadBucket = {
    putOnce: async (key, body) => {
      await begin('putOnce', key);
      if (stored.has(key)) return false;
      put(key, body);
      return true;
    },
    replace: async (key, body, etag) => {
      await begin('replace', key);
      if (!isAsRead(key, etag)) return false;
      put(key, body);
      return true;
    },
    uploadOnce: async (key, body) => {
      const text = await buffer(body);
      await begin('uploadOnce', key);
      if (stored.has(key)) return false;
      put(key, text);
      return true;
    },
    putParquet: async (key, path, about, etag) => {
      await begin('putParquet', key);
      if (!isAsRead(key, etag)) return false;
      put(key, readFileSync(path), about.metadata);
      return true;
    },
    head: async (key) => {
      await begin('head', key);
      const bytes = stored.get(key);
      return bytes && { etag: etagOf(bytes), bytes: bytes.length, metadata: metadata.get(key) ?? {} };
    },
    tag: async (key, value) => {
      await begin('tag', key);
      if (!stored.has(key)) throw new RunError('StorageUnavailable', `${key} is not there.`);
      tags.set(key, `published=${value}`);
    },
    read: async (key) => {
      await begin('read', key);
      const bytes = stored.get(key);
      if (!bytes) return undefined;
      return { text: Buffer.from(bytes).toString('utf8'), etag: etagOf(bytes), at: writtenAt };
    },
    stream: async (key, { from = 0, to, etag } = {}) => {
      await begin('stream', key);
      const bytes = stored.get(key);
      if (!bytes || ((from > 0 || to !== undefined) && from >= bytes.length)) return undefined;
      if (etag !== undefined && etag !== etagOf(bytes)) throw new RunError('StorageConflict', `${key} is another.`);
      const part = bytes.subarray(from, to);
      return { etag: etagOf(bytes), bytes: part.length, chunks: chunksOf(part, chunkBytes, key, streamed) };
    },
    list: async (prefix, most) => {
      await begin('list', prefix);
      const keys = [...stored.keys()].filter((key) => key.startsWith(prefix)).sort();
      return keys.slice(0, most).map((key) => ({ key, bytes: stored.get(key)?.length ?? 0, at: writtenAt }));
    },
  };
  return {
    ...bucket,
    calls,
    tags,
    put,
    remove: (key: string) => stored.delete(key),
    keys: () => [...stored.keys()].sort(),
    text: (key: string) => {
      const bytes = stored.get(key);
      return bytes && Buffer.from(bytes).toString('utf8');
    },
  };
}

export type FakeBucket = ReturnType<typeof fakeBucket>;

/** Makes one operation fail for keys that contain a text: `failing('putOnce', '_manifest', error)`. */
export function failing(operation: Operation, part: string, error: Error, times = 1): NonNullable<Options['before']> {
  let left = times;
  return (now, key) => {
    if (now !== operation || !key.includes(part) || left === 0) return;
    left -= 1;
    throw error;
  };
}

async function* chunksOf(
  bytes: Uint8Array,
  size: number,
  key: string,
  streamed: NonNullable<Options['streamed']>,
): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
    streamed(key);
  }
}
