import { createHash } from 'node:crypto';
import { RunError } from '../../lambdas/shared/errors.ts';
import type { Bucket } from '../../lambdas/shared/storage/bucket.ts';

interface Options {
  objects?: Record<string, string | Uint8Array>;
  /** Called before each operation; may throw, or change the bucket as another process would. */
  before?: (operation: Operation, key: string) => void | Promise<void>;
  /** Bytes of each chunk that `stream` gives. */
  chunkBytes?: number;
}

type Operation = keyof Bucket;

/** A bucket in memory with the conditions of S3: writes once, replaces by ETag, refuses a range of an empty object. */
export function fakeBucket({ objects = {}, before = () => {}, chunkBytes = 64 * 1024 }: Options = {}) {
  const stored = new Map<string, Uint8Array>();
  /** `operation key`, in order; what failed before it did anything is there as well. */
  const calls: string[] = [];
  const etagOf = (bytes: Uint8Array) => `"${createHash('md5').update(bytes).digest('hex')}"`;
  const put = (key: string, body: string | Uint8Array) => stored.set(key, Buffer.from(body));
  for (const [key, body] of Object.entries(objects)) put(key, body);
  const begin = async (operation: Operation, key: string) => {
    calls.push(`${operation} ${key}`);
    await before(operation, key);
  };

  const bucket: Bucket = {
    putOnce: async (key, body) => {
      await begin('putOnce', key);
      if (stored.has(key)) return false;
      put(key, body);
      return true;
    },
    replace: async (key, body, etag) => {
      await begin('replace', key);
      const standing = stored.get(key);
      if (!standing || etagOf(standing) !== etag) return false;
      put(key, body);
      return true;
    },
    read: async (key, lastByte) => {
      await begin('read', key);
      const bytes = stored.get(key);
      if (!bytes) return undefined;
      if (lastByte !== undefined && bytes.length === 0) throw invalidRange(key);
      const part = lastByte === undefined ? bytes : bytes.subarray(0, lastByte + 1);
      return { text: Buffer.from(part).toString('utf8'), etag: etagOf(bytes) };
    },
    stream: async (key, offset) => {
      await begin('stream', key);
      const bytes = stored.get(key);
      if (!bytes) return undefined;
      if (offset > 0 && offset >= bytes.length) throw invalidRange(key);
      return chunksOf(bytes.subarray(offset), chunkBytes);
    },
  };
  return {
    ...bucket,
    calls,
    put,
    keys: () => [...stored.keys()].sort(),
    text: (key: string) => {
      const bytes = stored.get(key);
      return bytes && Buffer.from(bytes).toString('utf8');
    },
  };
}

export type FakeBucket = ReturnType<typeof fakeBucket>;

/** The trouble of one operation on keys that hold a text: `failing('putOnce', '_manifest', error)`. */
export function failing(operation: Operation, part: string, error: Error, times = 1): Options['before'] {
  let left = times;
  return (now, key) => {
    if (now !== operation || !key.includes(part) || left === 0) return;
    left -= 1;
    throw error;
  };
}

function invalidRange(key: string): RunError {
  return new RunError('StorageUnavailable', `The bucket did not let ${key} be read (InvalidRange).`);
}

async function* chunksOf(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}
