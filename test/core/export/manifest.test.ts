import { expect, test } from 'vitest';
import { LAYOUT } from '../../../core/export/layout.ts';
import {
  type Manifest,
  manifestSchema,
  manifestText,
  readManifest,
  writeManifest,
} from '../../../core/export/manifest.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { STARTED_AT } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { type ManifestChanges, manifestOf } from '../../support/manifests.ts';

const KEY = 'runs/entity=leads/run=night-1/_manifest.json';
const manifest = (overrides: ManifestChanges = {}): Manifest =>
  manifestOf({ execution: 'night-1', startedAt: STARTED_AT, request: { columns: ['id'], locale: 'he' }, ...overrides });

/** The manifest as another release would write it, with different words and fields. */
const reworded = {
  ...manifest({ warnings: ['Other words.'], softwareVersion: '9.0.0', fingerprint: 'g', keptUntil: '2030-01-01' }),
  schemaVersion: 4,
  run: { entity: 'leads', date: '2026-11-20', exportId: 'another' },
  file: { ...manifest().file, rows: null, header: null, encoding: 'utf-8' },
};

test('accepts an existing manifest of another release for the same file and run', async () => {
  const text = JSON.stringify(reworded);
  const bucket = fakeBucket({ objects: { [KEY]: text } });

  await writeManifest(bucket, KEY, manifest());

  expect(bucket.text(KEY)).toBe(text);
});

const { file: sameFile, run: sameRun } = manifest();
test.each<[what: string, other: object]>([
  ['of other bytes', { file: { ...sameFile, crc32: 'BBBBBB==' } }],
  ['of another length', { file: { ...sameFile, bytes: 6 } }],
  ['of another file', { file: { ...sameFile, key: 'other.csv' } }],
  ['of a file without a checksum', { file: { ...sameFile, crc32: undefined } }],
  ['of no file', { file: null }],
  ['of another entity', { run: { ...sameRun, entity: 'contacts' } }],
  ['of another date', { run: { ...sameRun, date: '2026-11-19' } }],
  ['of another run', { execution: 'night-2' }],
  ['of another start', { startedAt: '2026-11-19T01:00:00.000Z' }],
])('reports StorageConflict for an existing manifest %s, and does not change it', async (_, other) => {
  for (const base of [manifest(), reworded]) {
    const text = JSON.stringify({ ...base, ...other });
    const bucket = fakeBucket({ objects: { [KEY]: text } });

    await failureOf(writeManifest(bucket, KEY, manifest()), 'StorageConflict');

    expect(bucket.text(KEY)).toBe(text);
  }
});

test.each(['', '{}', 'null', '[]', 'no JSON'])(
  'reports StorageConflict for %j, and does not change it',
  async (text) => {
    const bucket = fakeBucket({ objects: { [KEY]: text } });

    await failureOf(writeManifest(bucket, KEY, manifest()), 'StorageConflict');

    expect(bucket.text(KEY)).toBe(text);
  },
);

test('writes the same bytes for any order of keys, and keeps additional keys of the request', () => {
  const turned = Object.fromEntries(Object.entries(manifest()).reverse()) as Manifest;

  expect(manifestText(turned)).toBe(manifestText(manifest()));
  expect(JSON.parse(manifestText(manifest()))).toEqual(manifest());
  expect(manifestText(manifest())).toMatch(/\}\n$/);
});

test('reports EarlierRelease for a manifest of an earlier release, and StorageConflict for a damaged one', async () => {
  const read = (text: string) => readManifest(fakeBucket({ objects: { [KEY]: text } }), KEY);
  const early = await failureOf(read('{"schemaVersion":1,"execution":"night-1"}'), 'EarlierRelease');
  expect(early.message).toContain(KEY);

  const { restarts: _, ...broken } = manifest().file;
  for (const text of ['no JSON', '{}', JSON.stringify({ ...manifest(), file: broken })])
    await failureOf(read(text), 'StorageConflict');
  expect(await read(manifestText(manifest()))).toEqual(manifest());
});

test('reads a manifest of the previous layout, with the columns that were left out', async () => {
  const { run, file, checks, unansweredCreates, releasedBefore: _, ...others } = manifest();
  const { exportId, createdAt, adopted, listed: __, excepted: ___, ...asked } = run;
  const { storedAt, restarts, undeclaredEnd: ____, ...stored } = file;
  const fields = ['id', 'name', 'phone'].map((name) => ({ name, type: null, label: `the ${name}` }));
  const leftOut = [{ entry: 'ID number', name: 'idNumber', label: null }];
  const former = (rows: object | null) => ({
    ...others,
    ...asked,
    schemaVersion: LAYOUT - 1,
    fields,
    leftOut,
    export: { id: exportId, createdAt, adoptedFrom: adopted, storedAt, checks, unansweredCreates, restarts },
    file: { ...stored, content: { headed: true, width: 2, rows } },
  });
  const read = async (rows: object | null) =>
    readManifest(fakeBucket({ objects: { [KEY]: JSON.stringify(former(rows)) } }), KEY);

  expect(await read({ least: 7, most: 7 })).toEqual({
    ...manifest({ fields, excepted: leftOut, schemaVersion: LAYOUT - 1, request: run.request }),
    file: { ...file, content: { ...CONTENT_NOT_READ, headed: true, width: 2 } },
  });
  expect((await read({ least: 7, most: 8 }))?.file.content).toMatchObject({ doubts: 1 });
  expect((await read(null))?.file.content).toMatchObject({ doubts: 0 });
});

test('reads a manifest of a later release without its unknown keys', () => {
  const { file, run } = manifest();
  const more = {
    schemaVersion: 4,
    guarantees: [{ rows: 'fewer' }],
    file: { ...file, quoting: 'all' },
    run: { ...run, cost: 1 },
  };

  expect(manifestSchema.parse({ ...manifest(), ...more })).toEqual({ ...manifest(), schemaVersion: 4 });
});

test.each<[string, object]>([
  ['an unknown key', { colour: 1 }],
  ['an unknown key of the run', { run: { ...sameRun, colour: 1 } }],
  ['another version of the layout', { schemaVersion: 4 }],
])('does not write a manifest with %s', async (_, overrides) => {
  const bucket = fakeBucket();

  await expect(writeManifest(bucket, KEY, { ...manifest(), ...overrides })).rejects.toThrow();

  expect(bucket.keys()).toEqual([]);
});
