import { expect, test } from 'vitest';
import { readHistory } from '../../../core/export/history.ts';
import type { Pointer } from '../../../core/export/pointer.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { NO_HISTORY } from '../../../core/gate/subject.ts';
import { run } from '../../support/builders.ts';
import { type FakeBucket, fakeBucket } from '../../support/fake-bucket.ts';
import { type ManifestChanges, manifestOf } from '../../support/manifests.ts';
import { putPublished } from '../../support/published.ts';

const OF = {
  entity: 'leads',
  date: '2026-11-20',
  today: '2026-11-20',
  plan: run().plan,
} as const;

const dates = (days: number, before = '2026-11-20') =>
  Array.from({ length: days }, (_, index) =>
    new Date(Date.parse(before) - (index + 1) * 86_400_000).toISOString().slice(0, 10),
  );

function published(
  days: string[],
  overrides: (date: string) => { manifest?: ManifestChanges; pointer?: Partial<Pointer> } = () => ({}),
) {
  const bucket = fakeBucket();
  for (const [index, date] of days.entries()) putPublished(bucket, { date, rows: 100 + index, ...overrides(date) });
  return bucket;
}
const datesOf = async (bucket: FakeBucket, wanted: Partial<Parameters<typeof readHistory>[1]> = {}) =>
  (await readHistory(bucket, { ...OF, ...wanted })).comparedWith.map(({ run }) => run.date);

test('compares with the newest seven other dates, newest first', async () => {
  const days = dates(10, '2026-11-22');
  const expected = days.filter((date) => date !== '2026-11-20').slice(0, 7);

  expect(await datesOf(published(days))).toEqual(expected);
});

test('returns no history for an entity without a published export', async () => {
  expect(await readHistory(fakeBucket(), OF)).toEqual(NO_HISTORY);
});

test('leaves out dates with another plan', async () => {
  const bucket = published(dates(3), (date) => (date === '2026-11-18' ? { manifest: { plan: 'b'.repeat(64) } } : {}));

  expect(await datesOf(bucket)).toEqual(['2026-11-19', '2026-11-17']);
});

test('leaves out files of an earlier release, counts those of other dates, and ignores their newNormal', async () => {
  const early = ['2026-11-20', '2026-11-19', '2026-11-17'];
  const bucket = published(['2026-11-20', ...dates(4)], (date) =>
    early.includes(date) ? { pointer: { schemaVersion: 1, newNormal: true } } : {},
  );

  expect(await readHistory(bucket, OF)).toMatchObject({
    ...{ unreadable: 2, ofDate: undefined },
    comparedWith: [{ run: { date: '2026-11-18' } }, { run: { date: '2026-11-16' } }],
  });
});

test('starts the history at the newest date with newNormal, including that date', async () => {
  const bucket = published(dates(6), (date) => ({ pointer: { newNormal: date === '2026-11-18' } }));

  expect(await datesOf(bucket)).toEqual(['2026-11-19', '2026-11-18']);
});

test('compares a second run of a date with newNormal with the published run of that date only', async () => {
  const bucket = published([...dates(3), '2026-11-20'], (date) => ({ pointer: { newNormal: date === '2026-11-20' } }));

  expect(await datesOf(bucket)).toEqual(['2026-11-20']);
});

test('ends the history at a date with newNormal even if the run of that date is no longer kept', async () => {
  const bucket = published(dates(6), (date) => ({
    pointer: date === '2026-11-18' ? { newNormal: true, keptUntil: '2026-11-20' } : {},
  }));

  expect(await datesOf(bucket)).toEqual(['2026-11-19']);
});

test('counts and leaves out a missing manifest, an invalid manifest and an invalid pointer', async () => {
  const bucket = published(dates(5));
  bucket.put('runs/entity=leads/run=of-2026-11-19/_manifest.json', '{"moved":"by hand"}');
  bucket.put('published/entity=leads/date=2026-11-18.json', 'no JSON');
  putPublished(bucket, { date: '2026-11-17', rows: 1, pointer: { manifestKey: 'runs/gone.json' } });

  const history = await readHistory(bucket, OF);

  expect(history).toMatchObject({
    unreadable: 3,
    comparedWith: [{ run: { date: '2026-11-16' } }, { run: { date: '2026-11-15' } }],
  });
});

test('does not count a missing run that was kept only until today', async () => {
  const bucket = published(dates(2), () => ({ pointer: { keptUntil: '2026-11-20', manifestKey: 'runs/gone.json' } }));

  expect(await readHistory(bucket, OF)).toEqual(NO_HISTORY);
});

test('reads at most thirty dates, even if more are published', async () => {
  const bucket = published(dates(40), () => ({ manifest: { plan: 'b'.repeat(64) } }));

  expect(await datesOf(bucket)).toEqual([]);
  expect(bucket.calls.filter((call) => call.startsWith('read published/'))).toHaveLength(30);
});

/** The file in the manifest, without its content. */
const FILE = manifestOf({ file: { rows: 9, header: null } }).file;

/** The manifest of such a file, which one check has stopped. */
function stoppedBy(guard: string, file: object): ManifestChanges {
  const checks = [{ guard, passed: false, measured: 1, bound: 0, detail: null }];
  return {
    state: 'quarantined',
    guards: { checks, comparedWith: [], medianRows: null },
    file: file,
  };
}

const RELEASED = { pointer: { released: true } };
const CONTENT = { ...CONTENT_NOT_READ, firstRecord: 'f'.repeat(64), width: 2, ending: { cells: 1, lineBreak: false } };

test('the release of a file adds what it accepts to what earlier manifests have accepted', async () => {
  const carried = [
    { guard: 'unknownHeader', kind: 'a'.repeat(64), columns: ['id'] },
    { guard: 'lastRecord', kind: 'csv 2 1', columns: null },
  ];
  const bucket = published(dates(3), (date) => {
    if (date === '2026-11-18') return { manifest: stoppedBy('lastRecord', { ...FILE, content: CONTENT }), ...RELEASED };
    if (date === '2026-11-17')
      return { manifest: stoppedBy('unknownHeader', { ...FILE, content: CONTENT }), ...RELEASED };
    return { manifest: { releasedBefore: carried } };
  });

  expect((await readHistory(bucket, OF)).releasedBefore).toEqual([
    ...carried,
    { guard: 'unknownHeader', kind: CONTENT.firstRecord, columns: ['id', 'name'] },
  ]);
});

test.each<[what: string, file: object, released: boolean, accepted: object[]]>([
  ['empty', {}, true, [{ guard: 'empty', kind: '', columns: null }]],
  ['repeatedHeader', {}, true, [{ guard: 'repeatedHeader', kind: '', columns: null }]],
  ['otherHeader', {}, true, [{ guard: 'otherHeader', kind: '', columns: null }]],
  ['lastLineBreak', {}, true, [{ guard: 'lastLineBreak', kind: 'csv 2 1', columns: null }]],
  ['unknownHeader', { content: { ...CONTENT, width: 3 } }, true, []],
  ['unknownHeader', { content: { ...CONTENT, firstRecord: null } }, true, []],
  ['maxShrink', {}, true, []],
  ['lastRecord', {}, false, []],
])('a file that %s stopped: %j, released %j, accepts %j', async (guard, file, released, accepted) => {
  const manifest = stoppedBy(guard, { ...FILE, content: CONTENT, ...file });
  const bucket = published(dates(1), () => ({ manifest, pointer: { released } }));

  expect((await readHistory(bucket, OF)).releasedBefore).toEqual(accepted);
});
