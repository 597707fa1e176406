import { RunError } from '../../core/errors.ts';
import { listedFields } from '../../core/files/field-names.ts';
import { type Judgement, judgeFile, rejection } from '../../core/files/judge-file.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Run, StoredFile } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { isUnavailable, readObject } from '../../core/storage/read-object.ts';

/** The first two records lie within so many bytes, or the file is not the requested one. */
const START_BYTES = 1024 * 1024;

export type Accepted = Extract<Judgement, { result: 'accepted' | 'empty' }>;

/** @throws RunError `FileRejected`, or `StorageConflict` when the object is shorter */
export async function judgeStored(
  file: StoredFile,
  run: Pick<Run, 'request' | 'listed' | 'excepted'>,
  { bucket, deployment }: Pick<Invocation, 'deployment'> & { bucket: Bucket },
): Promise<Accepted> {
  const { formats } = deployment.files;
  const size = Math.min(file.bytes, START_BYTES);
  const { start, trouble } = await readStart(bucket, file.key, size);
  const judged = judgeFile(start, start.length === file.bytes, { ...listedFields(run), formats });
  // A part of the beginning may prove the file, but not disprove it.
  if (judged.result === 'accepted' || (judged.result === 'empty' && size === 0)) return judged;
  if (trouble) throw trouble;
  if (start.length !== size) throw notWhatWasReceived(file, start.length);
  if (judged.result === 'empty') return judged;
  const looks = judged.result === 'refused' ? judged.looks : 'a file whose first two records never end';
  throw new RunError('FileRejected', rejection(`The file at ${file.key}`, looks, file.contentType, formats));
}

/** As much of the beginning as the bucket gives. */
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
