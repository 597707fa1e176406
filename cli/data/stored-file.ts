import { crc32 } from 'node:zlib';
import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import type { Manifest } from '../../core/export/manifest.ts';
import { compareRuns } from '../../core/export/pointer.ts';
import type { ByteSource } from '../../core/file/byte-source.ts';
import { provenBatches, type Reading, type StoredRecord, unreadableReason } from '../../core/file/file-records.ts';
import type { ReadingLimits } from '../../core/file/reading-limits.ts';
import { isEmptyFile, isReadFormat } from '../../core/gate/facts.ts';
import { refusedCondition, storageError } from '../../core/storage/storage-errors.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import type { Target } from '../support/target.ts';
import { createManifests, fileError, goneText } from './stored-manifests.ts';

/** Most consecutive connections that break without delivering a byte. */
const BROKEN_IN_A_ROW = 4;

/** The current version of a file in the bucket: every later request is for this version. */
export interface StoredFile {
  key: string;
  etag: string;
  bytes: number;
}

/** @throws CommandError (exit code 1) when the file has expired, is gone, or has another size than its manifest says */
export async function storedFile(
  { s3, BucketName: Bucket }: Target,
  manifest: Manifest,
  abortSignal?: AbortSignal,
): Promise<StoredFile> {
  const { key, bytes } = manifest.file;
  const wanted = new HeadObjectCommand({ Bucket, Key: key });
  const head = await s3.send(wanted, { abortSignal }).catch((error: unknown) => {
    if (error instanceof Error && /^(NotFound|NoSuchKey)$/.test(error.name)) return undefined;
    throw storageError(error, 'read', key);
  });
  if (!head) throw fileError(goneText(manifest.run, `its file ${key}`));
  if (head.ContentLength === bytes) return { key, etag: head.ETag ?? '', bytes };
  throw fileError(
    `The file ${key} is corrupt: it has ${head.ContentLength} bytes, and its manifest says ${bytes}. Use another date, and report this to the operator of the deployment.`,
  );
}

/**
 * The bytes from an offset up to `end`; reconnects after a broken connection.
 * @param end not included
 * @throws CommandError (exit code 1) if the object was replaced; RunError if S3 does not answer; the signal's reason
 */
export async function* bytesFrom(
  { s3, BucketName: Bucket }: Target,
  { key, etag, bytes }: StoredFile,
  offset: number,
  abortSignal?: AbortSignal,
  end = bytes,
): AsyncGenerator<Uint8Array> {
  let at = offset;
  let broken = 0;
  while (at < end) {
    try {
      const wanted = new GetObjectCommand({ Bucket, Key: key, IfMatch: etag, Range: rangeText(at, end, bytes) });
      const { Body } = await s3.send(wanted, { abortSignal });
      for await (const chunk of Body as AsyncIterable<Uint8Array>) {
        yield chunk;
        at += chunk.byteLength;
        broken = 0;
      }
      if (at < end) throw new Error('the bucket closed the connection early');
    } catch (error) {
      abortSignal?.throwIfAborted();
      if (refusedCondition(error))
        throw fileError(`The file ${key} was replaced while it was being read. Start again.`, error);
      broken += 1;
      if (broken >= BROKEN_IN_A_ROW) throw storageError(error, 'read', key);
    }
  }
}

function rangeText(from: number, to: number, whole: number): string | undefined {
  return from > 0 || to < whole ? `bytes=${from}-${to - 1}` : undefined;
}

export function corruptText({ file }: Manifest, crc: number): string {
  return `The file ${file.key} is corrupt: its CRC-32 is ${crc32Text(crc)}, and its manifest says ${file.crc32}. Use another date, and report this to the operator of the deployment.`;
}

/** A command has no limits, because the person who started it can stop it. */
export const NO_LIMITS: ReadingLimits = {
  contentBytes: Number.POSITIVE_INFINITY,
  diskBytes: Number.POSITIVE_INFINITY,
  secondsLeft: () => Number.POSITIVE_INFINITY,
};

/** @throws CommandError (exit code 1) if this software cannot read the format of the file */
export function refuseUnread({ run: { entity, date }, file }: Pick<Manifest, 'run' | 'file'>): void {
  if (isReadFormat(file.format)) return;
  throw fileError(
    `The file of ${entity} of ${date} is of the kind ${file.format}, which the command cannot read. To get the file as it is, use download without --excel.`,
  );
}

/** The column names of a file: its header, or the requested columns if it has none or is empty; `null` if unknown. */
export function namesOf({ file, run }: Pick<Manifest, 'file' | 'run'>): string[] | null {
  return file.header ?? (file.content?.headed === false || isEmptyFile(file) ? run.request.columns : null);
}

/**
 * The records of a whole CSV file or spreadsheet, many at a time, starting with its header or, without one, with the
 * requested columns. UTF-8 and commas are the default for a dialect that the manifest does not name. After the last
 * record, size and CRC-32 are verified. A batch is valid until the next one is requested.
 * @throws CommandError (exit code 1) if the file cannot be read or differs from its manifest; the reason of the signal
 */
export async function* recordsOf(
  target: Target,
  manifest: Manifest,
  { signal, ...reading }: { signal?: AbortSignal | undefined } & Pick<Reading, 'bytesOfWidth'>,
): AsyncGenerator<StoredRecord[]> {
  refuseUnread(manifest);
  const { file, run } = manifest;
  const source = sourceOf(target, await storedFile(target, manifest, signal), signal);
  const refuse = (crc: number) => fileError(corruptText(manifest, crc));
  if (file.content?.headed === false) yield [run.request.columns];
  try {
    yield* provenBatches(source, file, { limits: NO_LIMITS, refuse, ...reading });
  } catch (error) {
    throw unreadable(file.key, error);
  }
}

/** A stored file as a source that can be read from any position. */
export function sourceOf(target: Target, stored: StoredFile, signal?: AbortSignal): ByteSource {
  return { size: stored.bytes, read: (from, to) => bytesFrom(target, stored, from, signal, to) };
}

/** @returns a CommandError (exit code 1) if the error is about unreadable content; otherwise the error itself */
export function unreadable(key: string, error: unknown): unknown {
  const why = unreadableReason(error);
  return why === undefined
    ? error
    : fileError(`The file ${key} ${why}. To get the file as it is, use download without --excel.`, error);
}

/**
 * Reads a published run as a reader would: pointer, manifest, then every byte of the file.
 * @returns the manifest
 * @throws CommandError (exit code 1) that names what is wrong
 */
export async function verifyPublished(
  target: Target,
  { entity, manifestKey }: { entity: string | null; manifestKey: string | null },
) {
  const wrong = (why: string) => fileError(`The run of ${entity ?? 'an unknown entity'} is published, but ${why}.`);
  const manifests = createManifests(target);
  const manifest = manifestKey === null ? undefined : await manifests.manifest(manifestKey);
  if (!manifest) throw wrong(manifestKey ? `the manifest ${manifestKey} is missing` : 'it names no manifest');
  const { run } = manifest;
  for (const date of run.kind === 'partial' ? [run.date] : [run.date, 'latest']) {
    const pointer = await manifests.pointer(run.entity, date);
    if (!pointer) throw wrong(`the pointer for ${date} is missing`);
    // A later run may have moved the pointer.
    if (pointer.manifestKey !== manifestKey && compareRuns(pointer, { ...manifest, ...run }) <= 0) {
      throw wrong(`the pointer for ${date} names ${pointer.manifestKey} instead`);
    }
  }
  let crc = 0;
  for await (const chunk of bytesFrom(target, await storedFile(target, manifest), 0)) crc = crc32(chunk, crc);
  if (crc32Text(crc) !== manifest.file.crc32) throw fileError(corruptText(manifest, crc));
  return manifest;
}
