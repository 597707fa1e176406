import { RunError } from '../../core/errors.ts';
import type { Csv } from '../../core/files/judge-file.ts';
import { type Answer, troubleOf, waitFor } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { LATE } from '../../core/step/late-try.ts';
import type { RunState, StoredFile } from '../../core/step/states.ts';
import { throughput } from '../../core/step/throughput.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
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
  const began = beginReading(deps);
  const pass = await scanStored(file, csv, state.scan, deps);
  const { scan, ended, read } = pass;
  began.log(file.key, read);
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
  refuseOther(file, scan.offset, scan.crc32);
  return { pass };
}

/** Notes what reading costs, for the log. */
export function beginReading({ now, cpuMilliseconds, log, deployment }: Invocation) {
  const began = { at: now().getTime(), cpu: cpuMilliseconds() };
  return {
    log: (key: string, bytes: number) => {
      const time = { milliseconds: now().getTime() - began.at, cpuMilliseconds: cpuMilliseconds() - began.cpu };
      log.info('read', { key, bytes, ...throughput(bytes, time, deployment.files.memoryMB.publish) });
    },
  };
}

/** @throws RunError `StorageConflict` when the object is not what DownloadFile received */
export function refuseOther(file: StoredFile, bytes: number, crc32: number): void {
  const found = crc32Text(crc32);
  if (bytes !== file.bytes || found !== file.crc32) throw notWhatWasReceived(file, bytes, found);
}
