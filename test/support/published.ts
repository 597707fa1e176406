import type { Manifest } from '../../core/export/manifest.ts';
import { datePointerKey, type Pointer } from '../../core/export/pointer.ts';
import type { FakeBucket } from './fake-bucket.ts';

interface Publication {
  date: string;
  rows: number | null;
  manifest?: Partial<Manifest>;
  pointer?: Partial<Pointer>;
}

/** Leads of another date, published by the plan of `run()`: manifest and pointer of the date. */
export function putPublished(bucket: FakeBucket, { date, rows, manifest = {}, pointer = {} }: Publication): void {
  const execution = `of-${date}`;
  const startedAt = `${date}T01:00:00.000Z`;
  const prefix = `runs/entity=leads/run=${execution}/`;
  const known = {
    schemaVersion: 1,
    entity: 'leads',
    date,
    execution,
    startedAt,
    keptUntil: '2099-01-01',
    kind: 'full',
  };
  const manifestKey = `${prefix}_manifest.json`;
  const whole = {
    ...known,
    file: {
      key: `${prefix}leads.csv`,
      bytes: 1,
      crc32: 'AAAAAA==',
      contentType: 'text/csv',
      format: 'csv',
      compression: null,
      dialect: null,
      rows,
      header: ['id', 'name'],
    },
    export: {
      id: exportIdOf(date),
      createdAt: startedAt,
      storedAt: startedAt,
      checks: 1,
      unansweredCreates: 0,
      restarts: 0,
    },
    request: { columns: ['id', 'name'] },
    fingerprint: 'f',
    plan: 'a'.repeat(64),
    state: 'published',
    softwareVersion: '0.1.0',
    warnings: [],
    ...manifest,
  };
  bucket.put(manifestKey, JSON.stringify(whole));
  bucket.put(datePointerKey('leads', date), JSON.stringify({ ...known, manifestKey, ...pointer }));
}

/** Another one for each date, as of a CRM that makes a new export for each request. */
export const exportIdOf = (date: string) => `00000000-0000-4000-8000-0000${date.replaceAll('-', '')}`;
