import { hashing } from '../../core/content/hashing.ts';
import { known, readArchive, readGzip } from '../../core/content/read-content.ts';
import { csvContent, NO_CONTENT, unjudged } from '../../core/content/read-stream.ts';
import { isRefusal, type Known, type Reading } from '../../core/content/reading.ts';
import { expectedOf } from '../../core/files/expected.ts';
import type { Answer } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Run, RunState, StoredFile } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { objectSource } from '../../core/storage/object-source.ts';
import { judgeStored } from './judge-stored.ts';
import { beginReading, readWhole, refuseOther } from './read-whole.ts';
import { MARGIN_SECONDS } from './scan-stored.ts';

type Deps = Invocation & { bucket: Bucket };
type Asked = Pick<Run, 'entity' | 'request' | 'listed' | 'excepted'>;

/**
 * Reads a stored file to its end. Plain CSV is read over as many invocations as that takes; what is packed, from its beginning in
 * this one.
 * @returns `later` where the next invocation goes on
 * @throws RunError `FileRejected` for what is not the export; `StorageConflict` when the object is not what was received;
 * `CheckUnfinished`, `DownloadTooLarge` (`core/content/read-content.ts`)
 */
export async function readStored(
  file: StoredFile,
  run: Asked,
  state: RunState,
  deps: Deps,
): Promise<{ later: Answer<'PublishFile'> } | Known> {
  const reading = readingOf(file, run, deps);
  const judged = await judgeStored(file, reading, deps);
  if (judged.result === 'gzip') return readPacked(file, reading, deps);
  const csv = judged.result === 'csv' ? judged.csv : null;
  const read = await readWhole(file, csv, state, deps);
  if ('later' in read) return read;
  const { scan, end } = read.pass;
  if (judged.result === 'zip') return readArchive(objectSource(deps.bucket, file.key, file.bytes, scan.etag), reading);
  if (judged.result === 'opaque') return known(file.bytes, null, unjudged(judged.format, reading));
  if (judged.result === 'csv' && end) return known(file.bytes, null, csvContent(judged.csv, scan, end, reading));
  const header = file.key.endsWith('.csv') ? [] : null;
  return known(file.bytes, null, { ...NO_CONTENT, header, remarks: ['The file has 0 bytes.'] });
}

/** Reads the stored bytes, and what they unpack to, in one pass. */
async function readPacked(file: StoredFile, reading: Reading, deps: Deps): Promise<Known> {
  const began = beginReading(deps);
  const { chunks, finish } = hashing(objectSource(deps.bucket, file.key, file.bytes));
  // Damage of the stored object is not the CRM's.
  const whole = async () => {
    const found = await finish();
    began.log(file.key, found.bytes);
    refuseOther(file, found.bytes, found.crc32);
  };
  const content = await readGzip(chunks, reading).catch(async (error: unknown) => {
    if (isRefusal(error)) await whole();
    throw error;
  });
  await whole();
  return known(file.bytes, 'gzip', content);
}

function readingOf(
  { key, contentType, undeclaredEnd }: StoredFile,
  run: Asked,
  { deployment, secondsLeft }: Deps,
): Reading {
  return {
    expected: expectedOf(run, deployment),
    what: `The file at ${key}`,
    contentType,
    maxBytes: deployment.files.maxBytes,
    secondsLeft: () => secondsLeft() - MARGIN_SECONDS,
    undeclaredEnd,
  };
}
