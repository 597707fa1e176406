import { RunError } from '../../core/errors.ts';
import type { Csv } from '../../core/files/judge-file.ts';
import { type Answer, troubleOf, waitFor } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { LATE } from '../../core/step/late-try.ts';
import type { RunState, StoredFile } from '../../core/step/states.ts';
import { throughput } from '../../core/step/throughput.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { crc32Text } from '../../transfer/index.ts';
import { notWhatWasReceived } from './judge-stored.ts';
import { type Pass, scanStored } from './scan-stored.ts';

/** Invocations that may break off while each gets further. */
const MOST_HANDED_ON = 50;

type Read = { pass: Pass } | { later: Answer<'PublishFile'> };

/**
 * Reads the stored object to its end, over as many invocations as that takes.
 * @throws RunError `StorageConflict` when it is not what DownloadFile received
 */
export async function readWhole(
  file: StoredFile,
  csv: Csv | null,
  state: RunState,
  deps: Invocation & { bucket: Bucket },
): Promise<Read> {
  const began = { at: deps.now().getTime(), cpu: deps.cpuMilliseconds() };
  const pass = await scanStored(file, csv, state.scan, deps);
  const { scan, ended, read } = pass;
  const time = { milliseconds: deps.now().getTime() - began.at, cpuMilliseconds: deps.cpuMilliseconds() - began.cpu };
  deps.log.info('read', {
    key: file.key,
    bytes: read,
    ...throughput(read, time, deps.deployment.files.memoryMB.publish),
  });
  if (ended === 'time') return { later: { outcome: 'CONTINUE', scan, waitSeconds: 1 } };
  if (ended !== 'whole') {
    if (scan.handedOn >= MOST_HANDED_ON) {
      const what = `Reading the object at ${file.key} broke off in ${scan.handedOn} invocations.`;
      throw new RunError('StorageUnavailable', what);
    }
    const wait = waitFor(state, deps) ?? { waitSeconds: LATE.waitSeconds };
    const trouble = troubleOf(ended, state, deps);
    return { later: { outcome: 'CONTINUE', scan: { ...scan, handedOn: scan.handedOn + 1 }, ...wait, trouble } };
  }
  const crc32 = crc32Text(scan.crc32);
  if (scan.offset !== file.bytes || crc32 !== file.crc32) throw notWhatWasReceived(file, scan.offset, crc32);
  return { pass };
}
