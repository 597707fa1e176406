import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { LAYOUT } from '../../../core/export/layout.ts';
import {
  type Manifest,
  manifestSchema,
  manifestText,
  readManifest,
  writeManifest,
} from '../../../core/export/manifest.ts';
import { EXPORT_ID, STARTED_AT } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';

const KEY = 'runs/entity=leads/run=night-1/_manifest.json';
const manifest = (overrides: Partial<Manifest> = {}): Manifest => ({
  schemaVersion: LAYOUT,
  entity: 'leads',
  date: '2026-11-20',
  execution: 'night-1',
  startedAt: STARTED_AT,
  file: {
    key: 'k.csv',
    bytes: 5,
    crc32: 'AAAAAA==',
    contentType: 'text/csv',
    format: 'csv',
    compression: null,
    dialect: null,
    rows: 1,
    header: ['id'],
    content: null,
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
  request: { columns: ['id'], locale: 'he' },
  fingerprint: 'f',
  state: 'published',
  plan: 'p',
  kind: 'full',
  differs: [],
  guards: null,
  fields: null,
  drift: null,
  leftOut: [],
  releasedBefore: null,
  unchangedSince: null,
  keptUntil: '2027-02-18',
  softwareVersion: '0.1.0',
  warnings: [],
  ...overrides,
});

test('a manifest is written once, and its repetition with the same bytes is success', async () => {
  const bucket = fakeBucket();

  await writeManifest(bucket, KEY, manifest());
  await writeManifest(bucket, KEY, manifest());

  expect(bucket.text(KEY)).toBe(manifestText(manifest()));
});

/** The manifest as another release would write it, with different words and fields. */
const reworded = {
  ...manifest({ warnings: ['Other words.'], softwareVersion: '9.0.0', fingerprint: 'g', keptUntil: '2030-01-01' }),
  schemaVersion: 4,
  dialect: { separator: ',' },
  request: undefined,
  file: { ...manifest().file, rows: null, header: null, encoding: 'utf-8' },
  export: { id: 'another' },
};

test('a manifest that says the same of file and run in other words is this one: the step is repeated by another release', async () => {
  const text = JSON.stringify(reworded);
  const bucket = fakeBucket({ objects: { [KEY]: text } });

  await writeManifest(bucket, KEY, manifest());

  expect(bucket.text(KEY)).toBe(text);
});

const { file: sameFile } = manifest();
test.each<[what: string, other: object]>([
  ['of other bytes', { file: { ...sameFile, crc32: 'BBBBBB==' } }],
  ['of another length', { file: { ...sameFile, bytes: 6 } }],
  ['of another file', { file: { ...sameFile, key: 'other.csv' } }],
  ['of a file without a checksum', { file: { ...sameFile, crc32: undefined } }],
  ['of no file', { file: null }],
  ['of another entity', { entity: 'contacts' }],
  ['of another date', { date: '2026-11-19' }],
  ['of another run', { execution: 'night-2' }],
  ['of another start', { startedAt: '2026-11-19T01:00:00.000Z' }],
])('a manifest %s in its place is a conflict, and stays, whatever else it says', async (_, other) => {
  for (const base of [manifest(), reworded]) {
    const text = JSON.stringify({ ...base, ...other });
    const bucket = fakeBucket({ objects: { [KEY]: text } });

    await failureOf(writeManifest(bucket, KEY, manifest()), 'StorageConflict');

    expect(bucket.text(KEY)).toBe(text);
  }
});

test.each(['', '{}', 'null', '[]', 'no JSON'])(
  'what is no manifest at all (%j) is a conflict, and stays',
  async (text) => {
    const bucket = fakeBucket({ objects: { [KEY]: text } });

    await failureOf(writeManifest(bucket, KEY, manifest()), 'StorageConflict');

    expect(bucket.text(KEY)).toBe(text);
  },
);

test('trouble of the bucket passes as it is', async () => {
  const bucket = fakeBucket({ before: failing('putOnce', KEY, new RunError('StorageDenied', 'No.')) });

  await failureOf(writeManifest(bucket, KEY, manifest()), 'StorageDenied');
});

test('the order in which a manifest was put together does not change its bytes, and further request keys stay', () => {
  const turned = Object.fromEntries(Object.entries(manifest()).reverse()) as Manifest;

  expect(manifestText(turned)).toBe(manifestText(manifest()));
  expect(JSON.parse(manifestText(manifest()))).toEqual(manifest());
  expect(manifestText(manifest())).toMatch(/\}\n$/);
});

test('a manifest of an earlier release is told from one that is damaged', async () => {
  const read = (text: string) => readManifest(fakeBucket({ objects: { [KEY]: text } }), KEY);
  const early = await failureOf(read('{"schemaVersion":1,"execution":"night-1"}'), 'EarlierRelease');
  expect(early.message).toBe(`The object ${KEY} is of an earlier release, so it counts as none.`);

  const { restarts: _, ...broken } = manifest().export;
  for (const text of ['no JSON', '{}', JSON.stringify({ ...manifest(), export: broken })])
    await failureOf(read(text), 'StorageConflict');
  expect(await read(manifestText(manifest()))).toEqual(manifest());
});

test('a manifest of a later release is read without what this one does not know', () => {
  const { file, export: made } = manifest();
  const more = {
    schemaVersion: 4,
    guarantees: [{ rows: 'fewer' }],
    file: { ...file, quoting: 'all' },
    export: { ...made, cost: 1 },
  };

  expect(manifestSchema.parse({ ...manifest(), ...more })).toEqual({ ...manifest(), schemaVersion: 4 });
});

test.each<[string, object]>([
  ['an unknown key', { colour: 1 }],
  ['an unknown key of the file', { file: { ...manifest().file, colour: 1 } }],
  ['an unknown key of the export', { export: { ...manifest().export, colour: 1 } }],
  ['another version of the layout', { schemaVersion: 4 }],
  ['rows below zero', { file: { ...manifest().file, rows: -1 } }],
  ['no look at the status', { export: { ...manifest().export, checks: 0 } }],
  ['a date that is none', { date: '20.11.2026' }],
])('a manifest with %s is not written', async (_, overrides) => {
  const bucket = fakeBucket();

  await expect(writeManifest(bucket, KEY, manifest(overrides))).rejects.toThrow();

  expect(bucket.keys()).toEqual([]);
});
