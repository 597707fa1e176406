import { crc32 } from 'node:zlib';
import type * as z from 'zod/mini';
import { type Manifest, storedManifestSchema } from '../../core/export/manifest.ts';
import { compareRuns, datePointerKey, latestPointerKey, pointerSchema } from '../../core/export/pointer.ts';
import { parseJson } from '../../core/json.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/** A published export, read back: its manifest and how its file begins. */
export interface Verified {
  manifest: Manifest;
  /** The first bytes of the file, at most 64 KiB. */
  start: Buffer;
}

interface ReportedRun {
  entity: string;
  manifestKey: string | null;
}

/**
 * Reads a published run back as a reader would: pointer, manifest, then every byte of the file.
 * @throws CommandError (exit code 1) that names what does not hold
 */
export async function verifyPublished(target: Pick<Target, 's3' | 'BucketName'>, run: ReportedRun): Promise<Verified> {
  const bucket = createBucket(target.s3, target.BucketName);
  const read = async <T>(key: string, schema: z.core.$ZodType<T>): Promise<T> => {
    const object = await bucket.read(key);
    if (!object) throw unverified(run, `there is no object ${key}`);
    const value = parseJson(schema, object.text);
    if (value !== undefined) return value;
    throw unverified(run, `the object ${key} does not hold what it should`);
  };
  if (!run.manifestKey) throw unverified(run, 'it names no manifest');
  const manifest = await read(run.manifestKey, storedManifestSchema);
  const { entity, date, kind } = manifest;
  const latest = kind === 'partial' ? [] : [latestPointerKey(entity)];
  for (const key of [datePointerKey(entity, date), ...latest]) {
    const pointer = await read(key, pointerSchema);
    // A later run may have moved the pointer.
    if (pointer.manifestKey !== run.manifestKey && compareRuns(pointer, manifest) <= 0) {
      throw unverified(run, `the pointer ${key} names ${pointer.manifestKey} instead`);
    }
  }
  const file = (await bucket.stream(manifest.file.key))?.chunks;
  if (!file) throw unverified(run, `there is no object ${manifest.file.key}`);
  const { bytes, crc, start } = await measure(file);
  if (bytes !== manifest.file.bytes || crc !== manifest.file.crc32) {
    throw unverified(run, `the file has ${bytes} bytes with CRC-32 ${crc}, its manifest says otherwise`);
  }
  return { manifest, start };
}

async function measure(chunks: AsyncIterable<Uint8Array>) {
  let bytes = 0;
  let crc = 0;
  const first: Uint8Array[] = [];
  for await (const chunk of chunks) {
    if (bytes < 65_536) first.push(chunk);
    bytes += chunk.byteLength;
    crc = crc32(chunk, crc);
  }
  return { bytes, crc: crc32Text(crc), start: Buffer.concat(first).subarray(0, 65_536) };
}

function unverified(run: ReportedRun, why: string): CommandError {
  return new CommandError(`The run of ${run.entity} is published, but ${why}.`, RUN_FAILED);
}
