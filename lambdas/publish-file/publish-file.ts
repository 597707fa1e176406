import { RunError } from '../shared/errors.ts';
import { crc32Text } from '../shared/files/transfer/crc32.ts';
import { runOf } from '../shared/run-of.ts';
import type { Run, RunState, Scan, StoredFile } from '../shared/states.ts';
import type { Answer, StepDeps } from '../shared/step.ts';
import type { Bucket } from '../shared/storage/bucket.ts';
import { type Manifest, writeManifest } from '../shared/storage/manifest.ts';
import { datePointerKey, latestPointerKey, movePointer, readPointer } from '../shared/storage/pointer.ts';
import { readHeader } from './header.ts';
import { isCsv, scanStored } from './scan-stored.ts';
import { refuseDoubtfulEnd } from './undeclared-end.ts';
import { warningsOf } from './warnings.ts';

export interface PublishFileDeps extends StepDeps {
  bucket: Bucket;
}

/**
 * Verifies the stored object in a pass over what readers will get, reads and judges both pointers, writes the manifest, then
 * moves the pointers.
 * Answers PUBLISHED with `manifestKey` and `rows`, or CONTINUE with the pass as far as it came when one invocation is not
 * enough.
 */
export async function publishFile(state: RunState, deps: PublishFileDeps): Promise<Answer<'PublishFile'>> {
  const run = runOf(state);
  const { file } = state;
  if (!file) throw new Error('the state has no file: DownloadFile was skipped');
  const pass = await scanStored(file, state.scan, deps);
  const { scan } = pass;
  if (!pass.done) return { outcome: 'CONTINUE', scan, waitSeconds: 1 };
  verify(file, scan);
  refuseDoubtfulEnd(file, pass);
  const contents = await contentsOf(file, scan, deps.bucket);
  refuseSentence(file, contents, run.request.columns);

  const manifest = manifestOf(state, run, file, contents);
  const manifestKey = `${run.prefix}_manifest.json`;
  const { entity, date, startedAt, execution, keptUntil } = manifest;
  const ofDate = await readPointer(deps.bucket, datePointerKey(entity, date));
  const ofLatest = await readPointer(deps.bucket, latestPointerKey(entity));
  await writeManifest(deps.bucket, manifestKey, manifest);
  const pointer = { schemaVersion: 1, entity, date, startedAt, execution, manifestKey, keptUntil };
  await movePointer(deps.bucket, ofDate, pointer);
  const latest = await movePointer(deps.bucket, ofLatest, pointer);
  const { rows, bytes, key } = manifest.file;
  deps.log.info('published', { key, bytes, rows, latest, warnings: manifest.warnings.length });
  return { outcome: 'PUBLISHED', manifestKey, rows, scan: null };
}

/** The stored object must be what DownloadFile received, and a CSV file must end outside of quotation marks. */
function verify(file: StoredFile, scan: Scan): void {
  const crc32 = crc32Text(scan.crc32);
  if (scan.offset !== file.bytes || crc32 !== file.crc32) {
    throw new RunError(
      'StorageConflict',
      `The object at ${file.key} has ${scan.offset} bytes with CRC-32 ${crc32}; ${file.bytes} with ${file.crc32} were received.`,
    );
  }
  if (scan.quoted) {
    throw new RunError(
      'FileRejected',
      `The CSV file at ${file.key} ends inside a quoted field: the service cut it off.`,
    );
  }
}

/** What stands in a CSV file; of any other format nothing is known. */
interface Contents {
  rows: number | null;
  header: string[] | null;
  irregular: number;
}

async function contentsOf(file: StoredFile, scan: Scan, bucket: Bucket): Promise<Contents> {
  if (!isCsv(file.key)) return { rows: null, header: null, irregular: 0 };
  const rows = Math.max(0, scan.records - 1);
  return { rows, header: await readHeader(bucket, file), irregular: scan.irregular };
}

function manifestOf(state: RunState, run: Run, file: StoredFile, contents: Contents): Manifest {
  const { rows, header } = contents;
  return {
    schemaVersion: 1,
    entity: run.entity,
    date: run.date,
    execution: state.execution,
    startedAt: state.startedAt,
    file: { key: file.key, bytes: file.bytes, crc32: file.crc32, contentType: file.contentType, rows, header },
    export: {
      id: run.exportId,
      createdAt: run.createdAt,
      storedAt: file.storedAt,
      checks: state.checks,
      unansweredCreates: state.unansweredCreates,
      restarts: file.restarts,
    },
    request: run.request,
    fingerprint: run.fingerprint,
    keptUntil: run.keptUntil,
    softwareVersion: run.softwareVersion,
    warnings: warningsOf({
      ...contents,
      asked: run.request.columns,
      unansweredCreates: state.unansweredCreates,
      restarts: file.restarts,
      undeclaredEnd: file.undeclaredEnd,
    }),
  };
}

/** A single line without a comma, where many columns were asked for, is no empty export but somebody's error message. */
function refuseSentence({ key }: StoredFile, { rows, header }: Contents, asked: string[]): void {
  if (rows !== 0 || header?.length !== 1 || asked.length === 1) return;
  throw new RunError(
    'FileRejected',
    `The CSV file at ${key} is one line of one field; ${asked.length} columns were asked for.`,
  );
}
