import { crc32 } from 'node:zlib';
import { crc32Text } from '../lambdas/shared/files/measured.ts';
import { createBucket } from '../lambdas/shared/storage/bucket.ts';
import { type Manifest, manifestSchema } from '../lambdas/shared/storage/manifest.ts';
import { datePointerKey, pointerSchema } from '../lambdas/shared/storage/pointer.ts';
import { CommandError, RUN_FAILED } from './exit.ts';
import type { RunReport } from './run-report.ts';
import type { Target } from './target.ts';

/** A published export, read back: its manifest and how its file begins. */
export interface Published {
  manifest: Manifest;
  /** The first bytes of the file, at most 64 KiB. */
  start: Buffer;
}

/**
 * Reads a published run back as a reader would: pointer, manifest, then every byte of the file.
 * @throws CommandError (exit code 1) saying what does not hold.
 */
export async function verifyPublished(target: Pick<Target, 's3' | 'BucketName'>, run: RunReport): Promise<Published> {
  const bucket = createBucket(target.s3, target.BucketName);
  const read = async (key: string) => {
    const object = await bucket.read(key);
    if (object) return JSON.parse(object.text);
    throw unverified(run, `there is no object ${key}`);
  };
  const manifest = manifestSchema.parse(await read(run.manifestKey ?? ''));
  const pointer = pointerSchema.parse(await read(datePointerKey(manifest.entity, manifest.date)));
  // A later run of the same date may have moved the pointer on in the meantime.
  if (pointer.manifestKey !== run.manifestKey && pointer.startedAt <= manifest.startedAt) {
    throw unverified(run, `the pointer of ${manifest.date} names ${pointer.manifestKey} instead`);
  }
  const { bytes, crc, start } = await measure((await bucket.stream(manifest.file.key, 0)) ?? []);
  if (bytes !== manifest.file.bytes || crc !== manifest.file.crc32) {
    throw unverified(run, `the file has ${bytes} bytes with CRC-32 ${crc}, its manifest says otherwise`);
  }
  return { manifest, start };
}

async function measure(chunks: AsyncIterable<Uint8Array> | Uint8Array[]) {
  let [bytes, crc] = [0, 0];
  const first: Uint8Array[] = [];
  for await (const chunk of chunks) {
    if (bytes < 65_536) first.push(chunk);
    bytes += chunk.byteLength;
    crc = crc32(chunk, crc);
  }
  return { bytes, crc: crc32Text(crc), start: Buffer.concat(first).subarray(0, 65_536) };
}

function unverified(run: RunReport, why: string): CommandError {
  return new CommandError(`The run of ${run.entity} is published, but ${why}.`, RUN_FAILED);
}
