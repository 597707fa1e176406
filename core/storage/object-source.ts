import type { ByteSource } from '../files/byte-source.ts';
import type { Bucket } from './bucket.ts';
import { readObject } from './read-object.ts';

/**
 * The bytes of a stored object, which stays the same one from the first read on. Reading throws RunError `StorageConflict` when it
 * is gone or another, `StorageUnavailable` when its connection broke too often.
 */
export function objectSource(bucket: Bucket, key: string, size: number, etag: string | null = null): ByteSource {
  const object = { etag };
  return { size, read: (from, to) => readObject(bucket, key, { from, to, size: to - from, object }) };
}
