import type { CrmClient } from '../../core/crm/crm-client.ts';
import { isOutage, mayStillAppear, requestDownload } from '../../core/crm/exports.ts';
import { RunError, type RunErrorName } from '../../core/errors.ts';
import { type Expected, expectedOf } from '../../core/file/expected-file.ts';
import { type Judgement, judgeFile, rejection } from '../../core/file/file-kind.ts';
import { type Answer, waitAfter } from '../../core/step/export-run.ts';
import { type DownloadProgress, NOTHING_MOVED, type RunState, runOf } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';
import { throughput } from '../../core/step/throughput.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { INSPECTED_BYTES } from '../../transfer/base/limits.ts';
import { TransferError, type TransferReason } from '../../transfer/base/transfer-errors.ts';
import type { FileHead, NamedObject, Stored, StoreOptions, TransferOptions } from '../../transfer/base/types.ts';
import type { abortUpload, transfer } from '../../transfer/transfer.ts';

export interface DownloadFileDeps extends Invocation {
  crm: CrmClient;
  store: StoreOptions;
  transfer: typeof transfer;
  abortUpload: typeof abortUpload;
}

/**
 * The most invocations, links and restarts of a run. 40 invocations transfer 2 TB in ten hours. A run waits at most
 * about 600 times, each time for a link.
 */
export const MOST = { invocations: 40, links: 1000, restarts: 5 } as const;

/** From this restart on, the file is read in one piece: the servers of one address may each have their own ETag. */
const RESTARTS_BY_RANGES = 3;

/**
 * Requests the address of the file (a secret that is valid for minutes), and transfers the file to the bucket. Answers
 * STORED with `file`; CONTINUE with `moving` when time is up, if the file changed, or after a transient error; NOT_READY
 * if the CRM does not release the file yet.
 */
export async function downloadFile(state: RunState, deps: DownloadFileDeps): Promise<Answer<'DownloadFile'>> {
  const moving = { ...(state.moving ?? NOTHING_MOVED) };
  try {
    const result = await timed(state, moving, deps).catch((error) => startOver(error, moving, deps));
    if (result) return stored(result, moving, deps);
    moving.invocations += 1;
    if (moving.invocations < MOST.invocations) return { outcome: 'CONTINUE', moving, waitSeconds: 1 };
    throw unfinished(`in ${MOST.invocations} invocations.${rereading(moving)}`);
  } catch (error) {
    return await interrupted(asRunError(error), state, moving, deps);
  }
}

function optionsFor(state: RunState, moving: DownloadProgress, deps: DownloadFileDeps): TransferOptions {
  const run = runOf(state);
  const { local, crm, files } = deps.deployment;
  const expected = expectedOf(run, deps.deployment);
  return {
    address: async () => {
      const address = await requestDownload(deps.crm, run.entity, run.exportId);
      moving.unknownSince = null;
      moving.links += 1;
      if (moving.links > MOST.links) throw unfinished(`with ${MOST.links} links.`);
      return address;
    },
    policy: { hosts: crm.fileHosts, privateHosts: crm.privateHosts ?? [], local },
    nameObject: (head, first) => nameFile(head, first, `${run.prefix}${run.entity}`, expected),
    store: deps.store,
    resume: moving.upload,
    inOnePiece: moving.restarts >= RESTARTS_BY_RANGES,
    maxBytes: files.maxBytes,
    allowUndeclaredEnd: files.allowUndeclaredEnd,
    connections: files.connections.most,
    secondsLeft: deps.secondsLeft,
    random: deps.random,
    observer: {
      request: (side) => {
        deps.requests[side === 'source' ? 'file' : 'store'] += 1;
      },
      upload: (upload) => {
        moving.upload = upload && { ...upload };
      },
      progress: progressLog(deps),
    },
  };
}

/** Adds the time of this invocation, even if it ends in an error. */
async function timed(state: RunState, moving: DownloadProgress, deps: DownloadFileDeps) {
  const began = { at: deps.now().getTime(), cpu: deps.cpuMilliseconds() };
  try {
    return await deps.transfer(optionsFor(state, moving, deps));
  } finally {
    moving.milliseconds += deps.now().getTime() - began.at;
    moving.cpuMilliseconds += Math.round(deps.cpuMilliseconds() - began.cpu);
  }
}

function stored(
  { key, bytes, crc32, contentType, undeclaredEnd }: Stored,
  moving: DownloadProgress,
  deps: DownloadFileDeps,
): Answer<'DownloadFile'> {
  const { restarts, milliseconds } = moving;
  deps.log.info('stored', { key, bytes, ...throughput(bytes, moving, deps.deployment.files.memoryMB.download) });
  // A clock may have been set back.
  if (bytes > 0 && milliseconds > 0) deps.log.measure({ TransferRate: bytes / (milliseconds / 1000) });
  const storedAt = deps.now().toISOString();
  const file = { key, bytes, crc32: crc32Text(crc32), contentType, storedAt, restarts, undeclaredEnd };
  return { outcome: 'STORED', file, moving: null };
}

/** Gives up the upload of a file that has changed, so that the next invocation begins again. @throws any other error */
async function startOver(error: unknown, moving: DownloadProgress, deps: DownloadFileDeps): Promise<null> {
  if (!(error instanceof TransferError) || error.reason !== 'changed') throw error;
  moving.restarts += 1;
  if (moving.restarts > MOST.restarts) throw unfinished(`in ${moving.restarts} tries. ${error.message}`);
  await abortOpenUpload(moving, deps);
  moving.upload = null;
  return null;
}

async function interrupted(
  error: unknown,
  state: RunState,
  moving: DownloadProgress,
  deps: DownloadFileDeps,
): Promise<Answer<'DownloadFile'>> {
  const withheld = isWithheld(error, moving, deps.now());
  const passing = error instanceof RunError && (withheld || error.transient);
  const wait = passing && waitAfter(error, state, deps);
  if (wait) return { outcome: withheld ? 'NOT_READY' : 'CONTINUE', moving, ...wait };
  await abortOpenUpload(moving, deps);
  throw withSince(error, moving);
}

/** Whether the CRM may give a link later. Also records when the CRM first answered that it does not know the export. */
function isWithheld(error: unknown, moving: DownloadProgress, now: Date): boolean {
  const name = error instanceof RunError ? error.name : undefined;
  if (name === 'ExportNotReady' || isOutage(error)) moving.unknownSince = null;
  if (name !== 'ExportNotFound') return name === 'ExportNotReady';
  moving.unknownSince ??= now.toISOString();
  return mayStillAppear(moving.unknownSince, now);
}

function withSince(error: unknown, { unknownSince }: DownloadProgress): unknown {
  if (!(error instanceof RunError) || error.name !== 'ExportNotFound') return error;
  return new RunError(
    error.name,
    `Since ${unknownSince}, the CRM has answered that it does not know the export: ${error.message}`,
  );
}

/** Aborts the open upload. If this fails, the lifecycle rules remove it after two days. */
async function abortOpenUpload({ upload }: DownloadProgress, deps: DownloadFileDeps): Promise<void> {
  const { abortUpload, store, secondsLeft, log } = deps;
  if (!upload) return;
  try {
    await abortUpload({ store, secondsLeft }, upload);
  } catch (error) {
    const runError = asRunError(error);
    if (!(runError instanceof RunError)) throw error;
    log.error('could not abort an upload', { key: upload.key, error: runError.name });
  }
}

function unfinished(how: string): RunError {
  return new RunError('DownloadUnfinished', `The file could not be downloaded completely ${how}`);
}

/**
 * Why the transfer of a file in one piece may not end: each invocation has to skip the bytes that the earlier ones
 * stored.
 */
function rereading({ upload }: DownloadProgress): string {
  return upload && upload.etag === null
    ? ' Each invocation began with the first byte, because the file server does not support ranges with a constant strong ETag.'
    : '';
}

/**
 * Names the object by its first bytes, and refuses it if they show a wrong kind of file. PublishFile decides unclear
 * cases.
 */
export function nameFile(
  head: FileHead,
  first: Uint8Array,
  place: string,
  expected: Expected,
): NamedObject | { refuse: string } {
  const complete = first.length < INSPECTED_BYTES || first.length === head.length;
  const judged = judgeFile(first, complete, expected);
  const contentType = mediaType(head.contentType);
  const refuse = (description: string) => ({
    refuse: `The received file ${rejection(description, contentType, expected.formats)}.`,
  });
  if (judged.result === 'refused') return refuse(judged.description);
  // Without bytes, only the media type can be checked.
  if (judged.result === 'empty' && contentType.includes('html')) return refuse('an empty web page');
  const key = `${place}.${extensionOf(judged)}${judged.gzipped ? '.gz' : ''}`;
  return { key, contentType: contentType || 'application/octet-stream' };
}

/** The bytes decide the extension. The key must not contain a name from the CRM. */
function extensionOf(judged: Judgement): string {
  if (judged.result === 'zip') return judged.sheet ? 'xlsx' : 'zip';
  if (judged.result === 'compound') return 'xls';
  return judged.result === 'opaque' ? judged.format : 'csv';
}

/**
 * A media type such as `text/csv; charset=utf-8` without its parameters, in lower case; '' if the text is not a media
 * type. Each of its two names has at most 127 characters (RFC 6838, 4.2).
 */
function mediaType(contentType: string): string {
  return /^[a-z]{1,127}\/[a-z0-9.+-]{1,127}(?![a-z0-9.+-])/.exec(contentType.trim().toLowerCase())?.[0] ?? '';
}

const NAMES: Record<Exclude<TransferReason, 'changed'>, RunErrorName> = {
  'address-rejected': 'DownloadUrlRejected',
  'link-expired': 'DownloadLinkExpired',
  'rate-limited': 'RateLimited',
  'source-unavailable': 'CrmUnavailable',
  incomplete: 'DownloadIncomplete',
  stalled: 'DownloadStalled',
  'too-large': 'DownloadTooLarge',
  refused: 'FileRejected',
  'store-unavailable': 'StorageUnavailable',
  'store-denied': 'StorageDenied',
  conflict: 'StorageConflict',
};

/** Converts an error of the transfer engine to a RunError; other errors are returned unchanged. */
function asRunError(error: unknown): unknown {
  // `startOver` handles `changed`.
  if (!(error instanceof TransferError) || error.reason === 'changed') return error;
  const { reason, message, retryAfterSeconds } = error;
  return new RunError(NAMES[reason], message, { retryAfterSeconds, cause: error });
}

const EVERY_MS = 5_000;

/** Logs the progress of a transfer, for `follow`. */
export function progressLog({ log, now }: Pick<Invocation, 'log' | 'now'>) {
  let logged = now().getTime();
  return (bytes: number, total: number | null): void => {
    const at = now().getTime();
    if (at - logged < EVERY_MS) return;
    logged = at;
    log.info('moved', { bytes, totalBytes: total });
  };
}
