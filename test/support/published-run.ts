import { crc32 } from 'node:zlib';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { onTestFinished } from 'vitest';
import { LAYOUT } from '../../core/export/layout.ts';
import { type Manifest, manifestSchema, manifestText } from '../../core/export/manifest.ts';
import { datePointerKey, latestPointerKey, type Pointer } from '../../core/export/pointer.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { createTableStore } from '../../lambdas/write-table/table-store.ts';
import { crc32Text } from '../../transfer/index.ts';
import { EXPORT_ID, STARTED_AT } from './builders.ts';
import { type StoreOptions, startStrictStore } from './strict-store/strict-store.ts';

export const DATE = '2026-11-20';

/** S3 on loopback with the client of the SDK, and the leads of runs in it. */
export async function publishedRuns(options: StoreOptions = {}) {
  // Every row group is a part.
  const store = await startStrictStore({ minPartBytes: 1, ...options });
  onTestFinished(store.stop);
  const client = new S3Client({
    endpoint: store.endpoint,
    region: 'eu-west-1',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });
  onTestFinished(() => client.destroy());
  const put = (Key: string, Body: string | Uint8Array) =>
    client.send(new PutObjectCommand({ Bucket: 'exports', Key, Body }));
  /** Stores file and manifest of a run, and points the date to it. */
  const publish = async (
    csv: string | Uint8Array,
    execution = 'night-1',
    file: Partial<Manifest['file']> = {},
    requested?: string[],
    told: Partial<Manifest> = {},
  ) => {
    const manifest = { ...manifestOf(Buffer.from(csv), execution, file, requested), ...told };
    await put(manifest.file.key, csv);
    await put(manifestKeyOf(execution), manifestText(manifest));
    await point(execution, manifest.date);
    return manifest;
  };
  const point = (execution: string, date = DATE) =>
    put(datePointerKey('leads', date), JSON.stringify(pointerTo(execution, date)));
  const pointLatest = (execution: string) => put(latestPointerKey('leads'), JSON.stringify(pointerTo(execution, DATE)));
  const stored = (partBytes?: number) => ({
    bucket: createBucket(client, 'exports'),
    tables: createTableStore(client, 'exports', undefined, partBytes),
  });
  return { store, client, put, publish, point, pointLatest, stored };
}

export function manifestKeyOf(execution: string): string {
  return `runs/entity=leads/run=${execution}/_manifest.json`;
}

function pointerTo(execution: string, date: string): Pointer {
  const place = { entity: 'leads', date, startedAt: STARTED_AT, execution } as const;
  const manifestKey = manifestKeyOf(execution);
  const kept = { keptUntil: '2099-01-01', kind: 'full', released: false, newNormal: false } as const;
  return { schemaVersion: LAYOUT, ...place, manifestKey, ...kept };
}

function manifestOf(bytes: Buffer, execution: string, file: Partial<Manifest['file']>, requested?: string[]): Manifest {
  const key = `runs/entity=leads/run=${execution}/leads.csv`;
  const header = bytes.toString('utf8').split(/\r?\n/)[0]?.split(',') ?? [];
  return manifestSchema.parse({
    schemaVersion: LAYOUT,
    entity: 'leads',
    date: DATE,
    execution,
    startedAt: STARTED_AT,
    keptUntil: '2099-01-01',
    file: {
      key,
      bytes: bytes.length,
      crc32: crc32Text(crc32(bytes)),
      contentType: 'text/csv',
      format: 'csv',
      compression: null,
      dialect: { encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' },
      rows: null,
      header,
      content: null,
      ...file,
    },
    export: {
      id: EXPORT_ID,
      createdAt: STARTED_AT,
      adoptedFrom: null,
      storedAt: STARTED_AT,
      checks: 1,
      unansweredCreates: 0,
      restarts: 0,
    },
    request: { columns: requested ?? header },
    fingerprint: 'f',
    state: 'published',
    guards: null,
    plan: 'p',
    kind: 'full',
    differs: [],
    fields: null,
    drift: null,
    leftOut: [],
    releasedBefore: null,
    unchangedSince: null,
    softwareVersion: '0.1.0',
    warnings: [],
  });
}
