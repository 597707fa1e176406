import { accepted, type Begun, START_BYTES } from '../../core/content/read-stream.ts';
import type { Reading } from '../../core/content/reading.ts';
import { RunError } from '../../core/errors.ts';
import { isGzip } from '../../core/files/file-kind.ts';
import { judgeFile } from '../../core/files/judge-file.ts';
import type { StoredFile } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { isUnavailable, readObject } from '../../core/storage/read-object.ts';

/**
 * Judges a stored object by its beginning; of gzip, only its first bytes are looked at.
 * @throws RunError `FileRejected`, or `StorageConflict` when the object is shorter
 */
export async function judgeStored(
  file: StoredFile,
  reading: Reading,
  { bucket }: { bucket: Bucket },
): Promise<Begun['judged'] | { result: 'gzip' }> {
  const size = Math.min(file.bytes, START_BYTES);
  const { start, trouble } = await readStart(bucket, file.key, size);
  if (isGzip(start)) return { result: 'gzip' };
  const judged = judgeFile(start, start.length === file.bytes, reading.expected);
  // A part of the beginning may prove the file, but not disprove it.
  if (judged.result === 'csv') return judged;
  if (trouble) throw trouble;
  if (start.length !== size) throw notWhatWasReceived(file, start.length);
  return accepted(judged, reading);
}

/** Reads as much of the beginning as the bucket gives. */
async function readStart(bucket: Bucket, key: string, to: number) {
  const chunks: Uint8Array[] = [];
  let trouble: unknown;
  try {
    // S3 refuses to read a part of an empty object.
    const part = { from: 0, to, size: to, object: { etag: null } };
    if (to > 0) for await (const chunk of readObject(bucket, key, part)) chunks.push(chunk);
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    trouble = error;
  }
  return { start: Buffer.concat(chunks), trouble };
}

export function notWhatWasReceived({ key, bytes, crc32 }: StoredFile, found: number, checksum?: string): RunError {
  const with32 = checksum === undefined ? ' or fewer' : ` with CRC-32 ${checksum}`;
  const what = `The object at ${key} has ${found} bytes${with32}; ${bytes} with ${crc32} were received.`;
  return new RunError('StorageConflict', what);
}
