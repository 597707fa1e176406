import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { verifyPublished } from '../../../cli/data/stored-file.ts';
import { crc32Text } from '../../../transfer/base/crc32.ts';
import { manifestOf, pointerTo } from '../../support/manifests.ts';
import { expectTexts } from '../../support/screen.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';

const FILE = 'runs/entity=leads/run=leads-1/leads.csv';
const MANIFEST = 'runs/entity=leads/run=leads-1/_manifest.json';
const POINTER = 'published/entity=leads/date=2026-11-20.json';
const LATEST = 'published/entity=leads/latest.json';
const content = 'id,name\r\n1,"a\nb"\r\n';
const startedAt = '2026-11-20T02:00:00.000Z';
const file = { bytes: content.length, crc32: crc32Text(crc32(content)) };
const manifest = manifestOf({ execution: 'leads-1', startedAt, file });
const pointer = pointerTo(manifest);
const report = { entity: 'leads', manifestKey: MANIFEST };

/** Verifies a bucket with the objects of a published run, with these changes; `undefined` removes an object. */
async function verify(changes: Record<string, unknown> = {}, run: Parameters<typeof verifyPublished>[1] = report) {
  const standing = { [FILE]: content, [MANIFEST]: manifest, [POINTER]: pointer, [LATEST]: pointer };
  const { objects, target } = await awsWithTarget();
  for (const [key, object] of Object.entries({ ...standing, ...changes })) {
    if (object !== undefined)
      objects.set(key, Buffer.from(typeof object === 'string' ? object : JSON.stringify(object)));
  }
  return verifyPublished(target, run);
}

test('reads back the manifest of a published run', async () => {
  expect(await verify()).toEqual(manifest);
});

test('reads the known fields of a manifest and pointers that a later release wrote', async () => {
  const more = { schemaVersion: 4, seal: [] };
  const grown = {
    ...manifest,
    ...more,
    file: { ...manifest.file, quoting: 'all' },
    run: { ...manifest.run, cost: 1 },
  };
  const moved = { ...pointer, ...more };

  const read = await verify({ [MANIFEST]: grown, [POINTER]: moved, [LATEST]: moved });

  expect(read).toEqual({ ...manifest, schemaVersion: 4 });
});

const later = { ...pointer, manifestKey: 'runs/later/_manifest.json', startedAt: '2026-11-20T03:00:00.000Z' };

test('accepts a pointer that a later run of the same date has moved', async () => {
  expect((await verify({ [POINTER]: later })).execution).toBe('leads-1');
});

const empty = { ...manifest, file: { ...manifest.file, bytes: 0, crc32: crc32Text(0) } };

const WRONG: [what: string, ...Parameters<typeof verify>][] = [
  ['a run that names no manifest', {}, { ...report, manifestKey: null }],
  ['a missing manifest', { [MANIFEST]: undefined }],
  ['a manifest of another shape', { [MANIFEST]: { entity: 'leads' } }],
  ['a missing pointer', { [POINTER]: undefined }],
  ['a pointer of another shape', { [POINTER]: [] }],
  ['a pointer to another run that is not later', { [POINTER]: { ...later, startedAt } }],
  [
    'a latest pointer of an earlier date',
    { [LATEST]: { ...pointer, date: '2026-11-19', manifestKey: 'runs/old/_manifest.json' } },
  ],
  ['a missing file', { [FILE]: undefined }],
  ['a missing file that was empty', { [FILE]: undefined, [MANIFEST]: empty }],
  ['a truncated file', { [FILE]: content.slice(1) }],
  ['a file with a changed byte', { [FILE]: content.replace('a', 'b') }],
];

test('reports what is wrong with a published run', async () => {
  const ends = WRONG.map(async ([what, changes, run]) => {
    const end = await verify(changes, run).catch((error: unknown) => error);
    expect(end).toMatchObject({ exitCode: 1 });
    return [what, (end as Error).message] as const;
  });

  await expectTexts('published-run-faults', await Promise.all(ends));
});
