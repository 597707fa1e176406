import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import type { CrmClient } from '../shared/crm/client.ts';
import { requestDownload } from '../shared/crm/exports.ts';
import { RunError } from '../shared/errors.ts';
import { extensionOf, mediaType } from '../shared/files/file-name.ts';
import { crc32Text, type Measure, measured } from '../shared/files/measured.ts';
import type { OpenOptions, RemoteFile } from '../shared/files/open-file.ts';
import { runOf } from '../shared/run-of.ts';
import type { RunState } from '../shared/states.ts';
import { type Answer, type StepDeps, waitFor } from '../shared/step.ts';
import type { Bucket } from '../shared/storage/bucket.ts';

export interface DownloadFileDeps extends StepDeps {
  crm: CrmClient;
  bucket: Bucket;
  openFile: (address: string, options: OpenOptions) => Promise<RemoteFile>;
}

/** Left for breaking off an upload and answering before the platform kills the invocation. */
const MARGIN_SECONDS = 15;

/**
 * Asks for the file's address, GETs the file and stores its bytes as they come. The address is a secret that lives for
 * minutes: it is asked for and used here, and appears nowhere else.
 * Answers STORED with `file`, or NOT_READY when the service does not give the file out yet.
 */
export async function downloadFile(state: RunState, deps: DownloadFileDeps): Promise<Answer<'DownloadFile'>> {
  const run = runOf(state);
  const address = await addressOf(state, deps);
  if (address === undefined) return notReady(state, deps);
  // Whole milliseconds: AbortSignal refuses fractions, which 884.123 * 1000 has.
  const signal = AbortSignal.timeout(Math.floor(Math.max(1, deps.secondsLeft() - MARGIN_SECONDS) * 1000));
  const remote = await deps.openFile(address, { local: deps.deployment.local, signal });
  const key = `${run.prefix}${run.entity}.${extensionOf(remote)}`;
  const measure = await store(key, remote, deps.bucket).finally(() => remote.close());
  const file = {
    key,
    bytes: measure.bytes,
    crc32: crc32Text(measure.crc32),
    contentType: mediaType(remote.contentType),
    storedAt: deps.now().toISOString(),
  };
  deps.log.info('stored', {
    entity: run.entity,
    execution: state.execution,
    exportId: run.exportId,
    key,
    bytes: file.bytes,
  });
  return { outcome: 'STORED', file };
}

async function addressOf(state: RunState, { crm }: DownloadFileDeps): Promise<string | undefined> {
  const { entity, exportId } = runOf(state);
  try {
    return await requestDownload(crm, entity, exportId);
  } catch (error) {
    if (error instanceof RunError && error.name === 'ExportNotReady') return undefined;
    throw error;
  }
}

function notReady(state: RunState, deps: DownloadFileDeps): Answer<'DownloadFile'> {
  const wait = waitFor(state, deps);
  if (wait) return { outcome: 'NOT_READY', ...wait };
  const { exportId, deadline } = runOf(state);
  throw new RunError(
    'ExportNotReady',
    `The service still did not give out the file of export ${exportId} at the deadline, ${deadline}.`,
  );
}

/** Stores the file once. Where a repeated step finds it stored already, its bytes are compared instead. */
async function store(key: string, remote: RemoteFile, bucket: Bucket): Promise<Measure> {
  const measure: Measure = { bytes: 0, crc32: 0 };
  const body = Readable.from(measured(remote, measure), { objectMode: false });
  const written = await bucket.uploadOnce(key, body, {
    contentType: mediaType(remote.contentType),
    bytes: remote.length,
  });
  if (!written && !(await isStored(key, measure, bucket))) {
    throw new RunError('StorageConflict', `Another file stands at ${key} than the service gave out now.`);
  }
  return measure;
}

async function isStored(key: string, measure: Measure, bucket: Bucket): Promise<boolean> {
  const stored: Measure = { bytes: 0, crc32: 0 };
  for await (const chunk of (await bucket.stream(key, 0)) ?? []) {
    stored.bytes += chunk.byteLength;
    stored.crc32 = crc32(chunk, stored.crc32);
  }
  return stored.bytes === measure.bytes && stored.crc32 === measure.crc32;
}
