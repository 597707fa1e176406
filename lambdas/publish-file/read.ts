import { RunError } from '../../core/errors.ts';
import type { StoredBytes } from '../../core/file/byte-source.ts';
import { expectedOf } from '../../core/file/expected-file.ts';
import { type ReadContent, readContent } from '../../core/file/read-content.ts';
import type { Run, StoredFile } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import { throughput } from '../../core/step/throughput.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { objectSource } from '../../core/storage/read-object.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';

type Deps = Invocation & { bucket: Bucket };

/** Seconds that are reserved for the manifest, the pointers and the answer. */
const MARGIN_SECONDS = 30;

/**
 * Reads a stored file to its end.
 * @throws RunError `FileRejected` if it is not the export; `StorageConflict` if the object differs from the received
 *  bytes; `CheckUnfinished`, `DownloadTooLarge` (`core/file/read-content.ts`); `StorageUnavailable`
 */
export async function readStored(
  file: StoredFile,
  run: Pick<Run, 'entity' | 'request' | 'listed' | 'excepted'>,
  deps: Deps,
): Promise<ReadContent> {
  const { deployment, secondsLeft, bucket } = deps;
  return readContent(
    objectSource(bucket, file.key, file.bytes),
    {
      expected: expectedOf(run, deployment),
      what: `The file at ${file.key}`,
      contentType: file.contentType,
      maxBytes: deployment.files.maxBytes,
      secondsLeft: () => secondsLeft() - MARGIN_SECONDS,
      undeclaredEnd: file.undeclaredEnd,
    },
    proofOf(file, deps),
  );
}

/** Compares the stored bytes with those that DownloadFile received, and logs the reading time. */
function proofOf({ key, bytes, crc32 }: StoredFile, { now, cpuMilliseconds, log, deployment }: Deps) {
  const began = { at: now().getTime(), cpu: cpuMilliseconds() };
  return (stored: StoredBytes) => {
    const time = { milliseconds: now().getTime() - began.at, cpuMilliseconds: cpuMilliseconds() - began.cpu };
    const speed = throughput(stored.bytes, time, deployment.files.memoryMB.publish);
    log.info('read', { key, bytes: stored.bytes, ...speed });
    const found = crc32Text(stored.crc32);
    if (stored.bytes === bytes && found === crc32) return;
    const what = `The object at ${key} has ${stored.bytes} bytes with CRC-32 ${found}, but ${bytes} bytes with ${crc32} were received.`;
    throw new RunError('StorageConflict', what);
  };
}
