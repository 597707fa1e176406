import { LAYOUT } from '../../core/export/layout.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { datePointerKey, type Pointer } from '../../core/export/pointer.ts';
import { type Content, UNSEEN } from '../../core/gate/facts.ts';
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
    schemaVersion: LAYOUT,
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
      content: contentOf(rows),
    },
    export: {
      id: exportIdOf(date),
      createdAt: startedAt,
      adoptedFrom: null,
      storedAt: startedAt,
      checks: 1,
      unansweredCreates: 0,
      restarts: 0,
    },
    request: { columns: ['id', 'name'] },
    fingerprint: 'f',
    state: 'published',
    guards: null,
    plan: 'a'.repeat(64),
    differs: [],
    fields: null,
    drift: null,
    leftOut: [],
    releasedBefore: null,
    unchangedSince: null,
    softwareVersion: '0.1.0',
    warnings: [],
    ...manifest,
  };
  bucket.put(manifestKey, JSON.stringify(whole));
  bucket.put(
    datePointerKey('leads', date),
    JSON.stringify({ ...known, manifestKey, released: false, newNormal: false, ...pointer }),
  );
}

/** Of a file with this header, whose rows are known. */
function contentOf(rows: number | null): Content {
  const counted = rows === null ? null : { least: rows, most: rows };
  return { ...UNSEEN, rows: counted, width: 2, headed: true, unlisted: 0, excepted: 0 };
}

/** Another one for each date, as of a CRM that makes a new export for each request. */
export const exportIdOf = (date: string) => `00000000-0000-4000-8000-0000${date.replaceAll('-', '')}`;
