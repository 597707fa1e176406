import { expect, test } from 'vitest';
import type { Reader } from '../../../core/config/settings.ts';
import { RunError, type RunErrorName } from '../../../core/errors.ts';
import { datePointerKey } from '../../../core/export/pointer.ts';
import { publishedValue } from '../../../core/readers/reader-access.ts';
import { deployment } from '../../support/builders.ts';
import { failing } from '../../support/fake-bucket.ts';
import { nightsOf } from '../../support/nights.ts';
import { FILE_KEY, MANIFEST_KEY, publish, SMALL_CSV, storedRun } from '../../support/stored-run.ts';

/** Readers in other accounts get a file by its tag: only a file that a pointer names, and from its first moment on. */

const readers: Reader[] = [{ principal: '444455556666', entities: ['leads'], of: ['files'] }];
const settings = (given: Reader[] = readers) => ({ deployment: deployment({ readers: given }) });
const PUBLISHED = `published=${publishedValue('leads', deployment().entities.leads)}`;
const NOT_TAGGED = { [FILE_KEY]: 'published=false', [MANIFEST_KEY]: 'published=false' };
const TAGGED = { [FILE_KEY]: PUBLISHED, [MANIFEST_KEY]: PUBLISHED };

test('tags file and manifest before a pointer names them', async () => {
  const { bucket, state } = storedRun(SMALL_CSV);

  expect(await publish(bucket, state, settings())).toMatchObject({ outcome: 'PUBLISHED' });

  expect(Object.fromEntries(bucket.tags)).toEqual(TAGGED);
  const orderOf = (call: string) => bucket.calls.findIndex((made) => made.startsWith(call));
  expect(orderOf(`tag ${MANIFEST_KEY}`)).toBeGreaterThan(orderOf(`putOnce ${MANIFEST_KEY}`));
  expect(orderOf(`tag ${MANIFEST_KEY}`)).toBeLessThan(orderOf('putOnce published/'));
});

test.each<[string, Reader[]]>([
  ['no other account reads', []],
  ['other accounts read tables only', [{ principal: '444455556666', entities: 'all', of: ['tables'] }]],
  ['other accounts read other files', [{ principal: '444455556666', entities: ['contacts'], of: ['files'] }]],
])('tags nothing if %s', async (_, given) => {
  const { bucket, state } = storedRun(SMALL_CSV);
  const tables = { leads: { tables: {} } };

  await publish(bucket, state, { deployment: deployment({ readers: given, entities: tables }) });

  expect(bucket.calls.filter((call) => call.startsWith('tag'))).toEqual([]);
});

test('removes the tag if a later run of the date was published first', async () => {
  const { bucket, state } = storedRun(SMALL_CSV);
  await publish(bucket, state, settings());
  const ahead = { startedAt: '2026-11-20T09:00:00.000Z', execution: 'later' };
  for (const key of [datePointerKey('leads', '2026-11-20'), 'published/entity=leads/latest.json'])
    bucket.put(key, JSON.stringify({ ...JSON.parse(bucket.text(key) ?? ''), ...ahead }));

  await publish(bucket, state, settings());

  expect(Object.fromEntries(bucket.tags)).toEqual(NOT_TAGGED);
});

test('keeps the tag of a run that moves only the pointer of an older date', async () => {
  const nights = nightsOf({}, { readers });
  await nights.night({ date: '2026-11-20', bytes: SMALL_CSV });
  await nights.night({ date: '2026-11-18', bytes: `${SMALL_CSV}3,x\n` });

  expect([...nights.bucket.tags.values()]).toEqual(Array(4).fill(PUBLISHED));
});

test('tags a quarantined file only when a person releases it', async () => {
  const rows = (count: number) => `id,name\n${Array.from({ length: count }, (_, row) => `${row},x\n`).join('')}`;
  const nights = nightsOf({}, { readers });
  await nights.night({ date: '2026-11-19', bytes: rows(100) });
  const tagsOf = () => [...nights.bucket.tags].filter(([key]) => key.includes('run=of-2026-11-20'));

  expect(await nights.night({ date: '2026-11-20', bytes: rows(10) })).toMatchObject({ ended: 'FileQuarantined' });
  expect(tagsOf()).toEqual([]);

  expect(await nights.release('of-2026-11-20')).toMatchObject({ ended: 'PUBLISHED' });
  expect(tagsOf()).toEqual([
    ['runs/entity=leads/run=of-2026-11-20/leads.csv', PUBLISHED],
    ['runs/entity=leads/run=of-2026-11-20/_manifest.json', PUBLISHED],
  ]);
});

test('sets no tag on a file of a run that began before a column was left out', async () => {
  const { bucket, state } = storedRun(SMALL_CSV);
  const leads = { columns: { except: ['name'] } };

  expect(await publish(bucket, state, { deployment: deployment({ readers, entities: { leads } }) })).toMatchObject({
    outcome: 'PUBLISHED',
  });
  expect([...bucket.tags]).toEqual([]);
});

test('sets no tag on a partial file that no pointer names', async () => {
  const nights = nightsOf({}, { readers });

  await nights.night({ date: '2026-11-20', bytes: SMALL_CSV, run: { kind: 'partial', publish: false } });

  expect([...nights.bucket.tags]).toEqual([]);
});

test.each(['tag', 'putOnce published/'])('a run killed at "%s" is published and tagged by a retry', async (at) => {
  const [operation, key = ''] = at.split(' ') as ['tag' | 'putOnce', string?];
  const before = failing(operation, key, new Error('killed'));
  const { bucket, state } = storedRun(SMALL_CSV, { before });
  await expect(publish(bucket, state, settings())).rejects.toThrow('killed');

  expect(await publish(bucket, state, settings())).toMatchObject({ outcome: 'PUBLISHED' });
  expect(Object.fromEntries(bucket.tags)).toEqual(TAGGED);
});

test.each<[what: string, operation: 'tag' | 'putOnce', key: string, trouble: RunErrorName, tags: object]>([
  ['removed if a tag is refused', 'tag', 'leads.csv', 'StorageDenied', NOT_TAGGED],
  ['removed if another tag is refused', 'tag', MANIFEST_KEY, 'StorageDenied', NOT_TAGGED],
  ['removed if no pointer moves', 'putOnce', 'published/', 'StorageDenied', NOT_TAGGED],
  ['kept if the pointer of the date names the file', 'putOnce', 'latest.json', 'StorageDenied', TAGGED],
  ['kept if a pointer may have moved without an answer', 'putOnce', 'published/', 'StorageUnavailable', TAGGED],
])('tags are %s', async (_, operation, key, trouble, tags) => {
  const before = failing(operation, key, new RunError(trouble, 'No.'));
  const { bucket, state } = storedRun(SMALL_CSV, { before });

  await expect(publish(bucket, state, settings())).rejects.toThrow('No.');
  expect(Object.fromEntries(bucket.tags)).toEqual(tags);
  expect(bucket.keys().some((each) => each.startsWith('published/'))).toBe(key === 'latest.json');
});
