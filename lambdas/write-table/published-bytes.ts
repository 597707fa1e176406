import type { Manifest } from '../../core/export/manifest.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { readObject } from '../../core/storage/read-object.ts';
import { TableError } from '../../core/table/table-error.ts';

/** Left for the last parts and the answer. */
const MARGIN_SECONDS = 45;

/**
 * The bytes of a published file, as long as there is time for them: a table is written by one invocation.
 * @throws TableError when it is over; RunError `StorageConflict`, `StorageUnavailable`
 */
export async function* publishedBytes(
  { key, bytes }: Manifest['file'],
  { bucket, deployment, secondsLeft }: Pick<Invocation, 'deployment' | 'secondsLeft'> & { bucket: Bucket },
): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of readObject(bucket, key, { from: 0, size: bytes, object: { etag: null } })) {
    if (secondsLeft() < MARGIN_SECONDS) {
      const share = Math.floor((100 * read) / bytes);
      const what = `One invocation is not enough for its ${bytes} bytes: the time was over after ${share} %`;
      throw new TableError(
        `${what}. More memory is a larger share of a CPU: tableMemoryMB is ${deployment.tableMemoryMB}.`,
      );
    }
    read += chunk.byteLength;
    yield chunk;
  }
}
