import { expect, test } from 'vitest';
import { readHistory } from '../../../core/export/history.ts';
import type { Pointer } from '../../../core/export/pointer.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { NO_HISTORY } from '../../../core/gate/subject.ts';
import { run } from '../../support/builders.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { type ManifestChanges, manifestOf, stoppedBy } from '../../support/manifests.ts';
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

interface Changes {
  manifest?: ManifestChanges;
  pointer?: Partial<Pointer>;
}

function published(days: string[], overrides: (date: string) => Changes = () => ({})) {
  const bucket = fakeBucket();
  for (const [index, date] of days.entries()) putPublished(bucket, { date, rows: 100 + index, ...overrides(date) });
  return bucket;
}

const of = (day: string, changes: Changes) => (date: string) => (date === `2026-11-${day}` ? changes : {});
const otherPlan = { manifest: { plan: 'b'.repeat(64) } };
const restarted = { pointer: { newNormal: true } };

test.each<[what: string, days: string[], changes: ((date: string) => Changes) | undefined, compared: string[]]>([
  ['the newest seven other dates', dates(10, '2026-11-22'), undefined, ['21', '19', '18', '17', '16', '15', '14']],
  ['no date with another plan', dates(3), of('18', otherPlan), ['19', '17']],
  ['the dates since a newNormal, including its date', dates(6), of('18', restarted), ['19', '18']],
  ['only the run of its own date, if that has newNormal', [...dates(3), '2026-11-20'], of('20', restarted), ['20']],
  [
    'the dates since a newNormal whose run is no longer kept',
    dates(6),
    of('18', { pointer: { newNormal: true, keptUntil: '2026-11-20' } }),
    ['19'],
  ],
])('compares with %s, newest first', async (_, days, changes, compared) => {
  const { comparedWith } = await readHistory(published(days, changes), OF);

  expect(comparedWith.map(({ run }) => run.date)).toEqual(compared.map((day) => `2026-11-${day}`));
});

test('returns no history for an entity without a published export', async () => {
  expect(await readHistory(fakeBucket(), OF)).toEqual(NO_HISTORY);
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
  const bucket = published(dates(40), () => otherPlan);

  expect(await readHistory(bucket, OF)).toEqual(NO_HISTORY);
  expect(bucket.calls.filter((call) => call.startsWith('read published/'))).toHaveLength(30);
});

/** The file in the manifest, without its content. */
const FILE = manifestOf({ file: { rows: 9, header: null } }).file;

const RELEASED = { pointer: { released: true } };
const CONTENT = { ...CONTENT_NOT_READ, firstRecord: 'f'.repeat(64), width: 2, ending: { cells: 1, lineBreak: false } };
const stopped = (guard: string, file: object = {}): ManifestChanges => ({
  ...stoppedBy(guard),
  file: { ...FILE, content: CONTENT, ...file },
});

test('the release of a file adds what it accepts to what earlier manifests have accepted', async () => {
  const carried = [
    { guard: 'unknownHeader', kind: 'a'.repeat(64), columns: ['id'] },
    { guard: 'lastRecord', kind: 'csv 2 1', columns: null },
  ];
  const bucket = published(dates(3), (date) => {
    if (date === '2026-11-18') return { manifest: stopped('lastRecord'), ...RELEASED };
    if (date === '2026-11-17') return { manifest: stopped('unknownHeader'), ...RELEASED };
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
  ['unknownHeader', { content: { ...CONTENT, moved: 1 } }, true, []],
  ['unknownHeader', { content: { ...CONTENT, firstRecord: null } }, true, []],
  ['maxShrink', {}, true, []],
  ['lastRecord', {}, false, []],
])('a file that %s stopped: %j, released %j, accepts %j', async (guard, file, released, accepted) => {
  const bucket = published(dates(1), () => ({ manifest: stopped(guard, file), pointer: { released } }));

  expect((await readHistory(bucket, OF)).releasedBefore).toEqual(accepted);
});
