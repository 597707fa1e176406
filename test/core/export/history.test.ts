import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { planMatch, readHistory } from '../../../core/export/history.ts';
import type { Manifest } from '../../../core/export/manifest.ts';
import type { Pointer } from '../../../core/export/pointer.ts';
import { run } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { type FakeBucket, failing, fakeBucket } from '../../support/fake-bucket.ts';
import { putPublished } from '../../support/published.ts';

const OF = {
  entity: 'leads',
  date: '2026-11-20',
  today: '2026-11-20',
  matches: planMatch(run(), 'sendEmail'),
} as const;

const dates = (days: number, before = '2026-11-20') =>
  Array.from({ length: days }, (_, index) =>
    new Date(Date.parse(before) - (index + 1) * 86_400_000).toISOString().slice(0, 10),
  );

function published(
  days: string[],
  overrides: (date: string) => { manifest?: Partial<Manifest>; pointer?: Partial<Pointer> } = () => ({}),
) {
  const bucket = fakeBucket();
  for (const [index, date] of days.entries()) putPublished(bucket, { date, rows: 100 + index, ...overrides(date) });
  return bucket;
}
const datesOf = async (bucket: FakeBucket, wanted: Partial<Parameters<typeof readHistory>[1]> = {}) =>
  (await readHistory(bucket, { ...OF, ...wanted })).comparedWith.map(({ date }) => date);

test('the newest seven dates are compared with, newest first, the own one aside', async () => {
  const days = dates(10, '2026-11-22');
  const expected = days.filter((date) => date !== '2026-11-20').slice(0, 7);

  expect(await datesOf(published(days))).toEqual(expected);
});

test('an entity that published nothing has no history', async () => {
  expect(await readHistory(fakeBucket(), OF)).toEqual({ comparedWith: [], unreadable: 0 });
});

test('another plan is no history, whatever was requested', async () => {
  const bucket = published(dates(3), (date) => (date === '2026-11-18' ? { manifest: { plan: 'b'.repeat(64) } } : {}));

  expect(await datesOf(bucket)).toEqual(['2026-11-19', '2026-11-17']);
});

test.each<[string, Manifest['request'], boolean]>([
  ['the same', { columns: ['id', 'name'] }, true],
  ['the same in another order of rows, by mail too', { columns: ['id', 'name'], sorts: [{}], sendEmail: true }, true],
  ['another column', { columns: ['id', 'phone'] }, false],
  ['a filter', { columns: ['id', 'name'], filters: [{ field: 'x' }] }, false],
])('a manifest of an earlier release, which names no plan, counts by its request: %s', async (_, request, counts) => {
  const bucket = published(dates(1), () => ({ manifest: { plan: null, request } }));

  expect(await datesOf(bucket)).toEqual(counts ? ['2026-11-19'] : []);
});

test('pointers and manifests that say nothing of kinds, states and guards are those of an earlier release, and count', async () => {
  const unsaid = { kind: undefined, state: undefined, guards: undefined, plan: undefined };
  const bucket = published(dates(2), () => ({ manifest: unsaid as object, pointer: { kind: undefined } as object }));

  expect(await datesOf(bucket)).toEqual(['2026-11-19', '2026-11-18']);
});

test('the history begins anew at the date that a person has marked, which counts itself', async () => {
  const bucket = published(dates(6), (date) => ({ pointer: { newNormal: date === '2026-11-18' } }));

  expect(await datesOf(bucket)).toEqual(['2026-11-19', '2026-11-18']);
});

test('a marked date ends the history of its own second run too', async () => {
  const bucket = published([...dates(3), '2026-11-20'], (date) => ({ pointer: { newNormal: date === '2026-11-20' } }));

  expect(await datesOf(bucket)).toEqual([]);
});

test('a marked date ends the history where its own run is kept no longer: older dates may have been made since', async () => {
  const bucket = published(dates(6), (date) => ({
    pointer: date === '2026-11-18' ? { newNormal: true, keptUntil: '2026-11-20' } : {},
  }));

  expect(await datesOf(bucket)).toEqual(['2026-11-19']);
});

test('a manifest that is gone, one that is none and a pointer that is none are counted and left out', async () => {
  const bucket = published(dates(5));
  bucket.put('runs/entity=leads/run=of-2026-11-19/_manifest.json', '{"moved":"by hand"}');
  bucket.put('published/entity=leads/date=2026-11-18.json', 'no JSON');
  putPublished(bucket, { date: '2026-11-17', rows: 1, pointer: { manifestKey: 'runs/gone.json' } });

  const history = await readHistory(bucket, OF);

  expect(history).toMatchObject({ unreadable: 3, comparedWith: [{ date: '2026-11-16' }, { date: '2026-11-15' }] });
});

test('what was kept until today may be gone, and is not missed', async () => {
  const bucket = published(dates(2), () => ({ pointer: { keptUntil: '2026-11-20', manifestKey: 'runs/gone.json' } }));

  expect(await readHistory(bucket, OF)).toEqual({ comparedWith: [], unreadable: 0 });
});

test('at most thirty dates are looked at, however many are published', async () => {
  const bucket = published(dates(40), () => ({ manifest: { plan: 'b'.repeat(64) } }));

  expect(await datesOf(bucket)).toEqual([]);
  expect(bucket.calls.filter((call) => call.startsWith('read published/'))).toHaveLength(30);
});

test('a bucket that does not answer is no empty history', async () => {
  const bucket = fakeBucket({ before: failing('list', 'published', new RunError('StorageUnavailable', 'Down.')) });

  await failureOf(readHistory(bucket, OF), 'StorageUnavailable');
});
