import { GetObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import type { Manifest } from '../../core/export/manifest.ts';
import { refusedCondition, storageError } from '../../core/storage/storage-errors.ts';
import type { Target } from '../support/target.ts';
import { failed, goneText } from './find.ts';

/** Connections in a row that break without a byte. */
const BROKEN_IN_A_ROW = 4;

/** What reading a file of the bucket needs of a deployment. */
export type ExportsBucket = Pick<Target, 's3' | 'BucketName'>;

/** The file as it is in the bucket now: every later request is for this version. */
export interface StoredFile {
  key: string;
  etag: string;
  bytes: number;
}

/** @throws CommandError (exit code 1) when the file has expired, is gone, or is not as long as its manifest says */
export async function storedFile(
  { s3, BucketName: Bucket }: ExportsBucket,
  manifest: Manifest,
  abortSignal?: AbortSignal,
): Promise<StoredFile> {
  const { key, bytes } = manifest.file;
  const wanted = new HeadObjectCommand({ Bucket, Key: key });
  const head = await s3.send(wanted, { abortSignal }).catch((error: unknown) => {
    if (error instanceof Error && /^(NotFound|NoSuchKey)$/.test(error.name)) return undefined;
    throw storageError(error, 'read', key);
  });
  if (!head) throw failed(goneText(manifest.entity, manifest, `its file ${key}`));
  if (head.ContentLength === bytes) return { key, etag: head.ETag ?? '', bytes };
  throw failed(
    `The file ${key} is corrupt: it has ${head.ContentLength} bytes, and its manifest says ${bytes}. Use another date, and tell who runs the deployment.`,
  );
}

/**
 * The bytes from an offset to the end, or up to another; reconnects where a connection broke.
 * @param end not included
 * @throws CommandError (exit code 1) when the object was replaced; RunError when the bucket does not answer; the signal's reason
 */
export async function* bytesFrom(
  target: ExportsBucket,
  file: StoredFile,
  offset: number,
  signal?: AbortSignal,
  end = file.bytes,
): AsyncGenerator<Uint8Array> {
  let at = offset;
  let broken = 0;
  while (at < end) {
    try {
      for await (const chunk of await open(target, file, { at, end }, signal)) {
        yield chunk;
        at += chunk.byteLength;
        broken = 0;
      }
      if (at < end) throw new Error('the bucket closed the connection early');
    } catch (error) {
      signal?.throwIfAborted();
      if (refusedCondition(error))
        throw failed(`The file ${file.key} was replaced while it was read: start again.`, error);
      broken += 1;
      if (broken >= BROKEN_IN_A_ROW) throw storageError(error, 'read', file.key);
    }
  }
}

/**
 * The first bytes of a file: no more than these are requested.
 * @throws RunError when the bucket does not answer
 */
export async function firstBytes(
  { s3, BucketName: Bucket }: ExportsBucket,
  { key, etag, bytes }: StoredFile,
  most: number,
): Promise<Uint8Array> {
  // S3 has no range of an empty object.
  if (bytes === 0) return new Uint8Array();
  const wanted = new GetObjectCommand({ Bucket, Key: key, IfMatch: etag, Range: `bytes=0-${most - 1}` });
  try {
    const { Body } = await s3.send(wanted);
    return (await Body?.transformToByteArray()) ?? new Uint8Array();
  } catch (error) {
    if (refusedCondition(error)) throw failed(`The file ${key} was replaced while it was read: start again.`, error);
    throw storageError(error, 'read', key);
  }
}

async function open(
  { s3, BucketName }: ExportsBucket,
  { key, etag, bytes }: StoredFile,
  { at, end }: { at: number; end: number },
  abortSignal: AbortSignal | undefined,
): Promise<AsyncIterable<Uint8Array>> {
  const which = { Bucket: BucketName, Key: key, IfMatch: etag };
  const wanted = new GetObjectCommand({
    ...which,
    ...((at > 0 || end < bytes) && { Range: `bytes=${at}-${end < bytes ? end - 1 : ''}` }),
  });
  const { Body } = await s3.send(wanted, { abortSignal });
  return Body as AsyncIterable<Uint8Array>;
}
