import { crc32 } from 'node:zlib';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { type Manifest, manifestText } from '../../core/export/manifest.ts';
import { datePointerKey, latestPointerKey } from '../../core/export/pointer.ts';
import { createUploadBucket } from '../../core/storage/upload.ts';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { STARTED_AT } from './builders.ts';
import { DIALECT, type ManifestChanges, manifestKeyOf, manifestOf, pointerTo } from './manifests.ts';
import { type StoreOptions, storeForTest } from './strict-store/strict-store.ts';

// Parts of a few bytes, as the strict store takes them.
Object.assign(Upload, { MIN_PART_SIZE: 1 });

export const DATE = '2026-11-20';

/** S3 on loopback with an SDK client, and runs of leads in it. */
export async function publishedRuns(options: StoreOptions = {}) {
  // Every row group is a part.
  const { client, ...store } = await storeForTest({ minPartBytes: 1, ...options });
  const put = (Key: string, Body: string | Uint8Array) =>
    client.send(new PutObjectCommand({ Bucket: 'exports', Key, Body }));
  /** Stores file and manifest of a run, and points the date to it. */
  const publish = async (
    csv: string | Uint8Array,
    execution = 'night-1',
    file: Partial<Manifest['file']> = {},
    requested?: string[],
    changes: ManifestChanges = {},
  ) => {
    const own = { execution, file, ...(requested && { request: { columns: requested } }) };
    const manifest = manifestOfFile(Buffer.from(csv), { ...own, ...changes });
    await put(manifest.file.key, csv);
    await put(manifestKeyOf(execution), manifestText(manifest));
    await point(execution, manifest.run.date);
    return manifest;
  };
  const point = (execution: string, date = DATE) =>
    put(
      datePointerKey('leads', date),
      JSON.stringify(pointerTo(manifestOf({ execution, date, startedAt: STARTED_AT }))),
    );
  const pointLatest = (execution: string, date = DATE) =>
    put(latestPointerKey('leads'), JSON.stringify(pointerTo(manifestOf({ execution, date, startedAt: STARTED_AT }))));
  const stored = (partBytes?: number) => ({
    bucket: createUploadBucket(client, 'exports', undefined, partBytes),
  });
  return { store, client, put, publish, point, pointLatest, stored };
}

/** The manifest of a run of leads whose file has these bytes; its first line names the columns. */
function manifestOfFile(bytes: Buffer, { file, ...changes }: ManifestChanges): Manifest {
  const header = bytes.toString('utf8').split(/\r?\n/)[0]?.split(',') ?? [];
  const measured = { bytes: bytes.length, crc32: crc32Text(crc32(bytes)), dialect: DIALECT, rows: null, header };
  return manifestOf({ request: { columns: header }, ...changes, file: { ...measured, ...file } });
}
