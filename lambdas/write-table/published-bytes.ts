import { freeDisk } from '../../core/content/free-disk.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { ByteSource } from '../../core/files/byte-source.ts';
import type { Invocation } from '../../core/step/step.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { readObject } from '../../core/storage/read-object.ts';
import { TableError } from '../../core/table/table-error.ts';
import type { ReadingLimits } from '../../core/zip/reading-limits.ts';

/** Seconds that are left for the last parts and the answer. */
const MARGIN_SECONDS = 45;

/** The limits of a published file. Its content was bounded before it was published: here only time and disk are. */
export async function readingLimits({ secondsLeft }: Pick<Invocation, 'secondsLeft'>): Promise<ReadingLimits> {
  return {
    contentBytes: Number.POSITIVE_INFINITY,
    diskBytes: await freeDisk(),
    secondsLeft: () => secondsLeft() - MARGIN_SECONDS,
  };
}

/**
 * The bytes of a published file, as long as there is time for them: a table is written by one invocation. All reads are of one
 * version of the object.
 * @throws (its `read`) TableError when the time is over; RunError `StorageConflict`, `StorageUnavailable`
 */
export function publishedBytes(
  { key, bytes: size }: Manifest['file'],
  { bucket, deployment, secondsLeft }: Pick<Invocation, 'deployment' | 'secondsLeft'> & { bucket: Bucket },
): ByteSource {
  const object = { etag: null };
  const refuseLate = (at: number) => {
    if (secondsLeft() >= MARGIN_SECONDS) return;
    const share = Math.floor((100 * at) / size);
    const what = `One invocation is not enough for its ${size} bytes: the time was over after ${share} %`;
    throw new TableError(
      `${what}. More memory is a larger share of a CPU: tableMemoryMB is ${deployment.tableMemoryMB}.`,
    );
  };
  const read = async function* (from: number, to: number): AsyncGenerator<Uint8Array> {
    let at = from;
    // S3 has no range of no bytes.
    if (to <= from) return;
    for await (const chunk of readObject(bucket, key, { from, to, size, object })) {
      refuseLate(at);
      at += chunk.byteLength;
      yield chunk;
    }
  };
  return { size, read };
}
