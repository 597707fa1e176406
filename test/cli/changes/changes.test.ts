import { expect, test } from 'vitest';
import { changesSchema } from '../../../cli/changes/changes.ts';
import { headKey, recordKey } from '../../../core/changes/feed-keys.ts';
import { dateAfter } from '../../../core/schedule/local-time.ts';
import { type FeedSettings, night } from '../../support/feed-runs.ts';
import { publishedRuns } from '../../support/published-run.ts';
import { expectResults } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import type { CliResult } from '../support/run-cli.ts';

/** A night: its file, and changed settings. */
type Night = string | { csv: string; settings: FeedSettings };

/**
 * Feeds of leads by the real steps, for nights from 2026-11-20 on with the runs night-1, night-2, …, in the bucket of a
 * deployment. The key is `id`.
 */
async function feedsOf(...nights: Night[]) {
  const cloud = await aws();
  for (const { key, body, etag } of await writtenBy(nights)) {
    cloud.objects.set(key, body);
    cloud.etags.set(key, etag);
  }
  return {
    ...cloud,
    changes: (...args: string[]) => cloud.cli('changes', 'leads', ...args),
    /** Removes the rows of the feed of a night, or the whole feed. */
    lose: (place: number, whole: boolean) => {
      const folder = `changes/entity=leads/date=${dateOf(place)}/`;
      const names = [...cloud.objects.keys()].filter((key) => key.startsWith(folder));
      for (const key of names) if (whole || key.endsWith('.parquet')) cloud.objects.delete(key);
    },
  };
}

type Written = { key: string; body: Buffer; etag: string }[];
/** Feeds by their nights: most tests read the same ones, and each night takes a quarter of a second to write. */
const written = new Map<string, Promise<Written>>();

function writtenBy(nights: Night[]): Promise<Written> {
  const name = JSON.stringify(nights);
  const feeds = written.get(name) ?? writeFeeds(nights);
  written.set(name, feeds);
  return feeds;
}

async function writeFeeds(nights: Night[]): Promise<Written> {
  const { store, ...world } = await publishedRuns();
  for (const [place, each] of nights.entries()) {
    const { csv, settings } = typeof each === 'string' ? { csv: each } : each;
    await night({ store, ...world }, `night-${place + 1}`, dateOf(place + 1), csv, settings);
  }
  return store
    .keys()
    .filter((key) => key.startsWith('changes/'))
    .map((key) => ({ key, body: store.object(key)?.body ?? Buffer.alloc(0), etag: store.object(key)?.etag ?? '' }));
}

/** The date of a night, from 1 on. */
const dateOf = (place: number) => dateAfter('2026-11-19', place);

const FIRST = 'id,name,city\n1,Ann,Haifa\n2,Ben,\n3,Cat,Eilat\n';
const SECOND = 'id,name,city\n1,Ann,Lod\n2,,Acre\n4,Dan,\n';
/** The fourth feed has all rows, because the settings have changed. */
const RESET: Night[] = [FIRST, SECOND, FIRST, { csv: FIRST, settings: { changes: { ignore: ['city'] } } }];

test('prints feeds, the end of their chain, lost feeds and stopped deletions, each in a sentence', async () => {
  const { changes, lose } = await feedsOf(FIRST, SECOND, SECOND);
  const results: [string, CliResult][] = [['the newest feed', await changes()]];
  for (const since of ['0', '1', '3', '9']) results.push([`since ${since} of 3`, await changes('--since', since)]);
  for (const place of [1, 2, 3]) lose(place, true);
  results.push(['all feeds are lost', await changes()]);
  results.push(['no feed yet', await (await aws()).cli('changes', 'leads')]);
  const reset = await feedsOf(...RESET);
  for (const place of [1, 2]) reset.lose(place, true);
  for (const since of ['0', '1']) results.push([`lost feeds since ${since}`, await reset.changes('--since', since)]);
  for (const [what, stopped, key] of [
    ['missing keys', STOPPED, ['id']],
    ['missing values of another column', STOPPED, ['email']],
    ['missing keys of two columns', STOPPED, ['id', 'email']],
    ['missing keys of a table that was written again', { ...STOPPED, date: '2026-11-21' }, ['id']],
    ['missing rows', { ...STOPPED, of: 'rows' }, ['id']],
  ] as const)
    results.push([`stopped: ${what}`, await (await chain(stopped, [...key])).cli('leads')]);
  const release = ['leads', '--release', '--reason'];
  for (const of of ['keys', 'rows'])
    results.push([`released: missing ${of}`, await (await chain({ ...STOPPED, of })).cli(...release, 'Archived')]);
  const notStopped = await chain();
  for (const reason of [' ', 'x'])
    results.push([`no feed is stopped, reason "${reason}"`, await notStopped.cli(...release, reason)]);

  await expectResults('changes', results);
  expect(notStopped.written()).toEqual([]);
});

test('--json prints the records of the feeds, and that nothing is stopped', async () => {
  const { changes } = await feedsOf(FIRST, SECOND);

  const { stdout } = await changes('--since', '0', '--json');

  expect(changesSchema.parse(JSON.parse(stdout))).toMatchObject({
    ...{ entity: 'leads', stopped: null, release: null },
    feeds: [
      { sequence: 1, kind: 'snapshot', rows: 3 },
      { sequence: 2, kind: 'changes', inserts: 1, deletes: 1, updates: 2, keys: 3, gone: 1 },
    ],
  });
});

const recordOf = (sequence: number, date: string, more: object = {}) => ({
  ...{ schemaVersion: 2, entity: 'leads', sequence, kind: 'changes' },
  from: { run: 'night-0', date: '2026-11-19' },
  to: { run: `night-${sequence}`, date },
  ...{ key: ['id'], ignore: [], feed: { bytes: 1, etag: '"a"' }, rows: 40 },
  ...{ inserts: 1, deletes: 2, updates: 3, unmatched: 0, keys: 40, gone: 2, released: null },
  ...more,
});
const STOPPED = { run: 'night-3', date: '2026-11-22', of: 'keys', keys: 40, gone: 20, at: '2026-11-22T03:00:00.000Z' };
const END = { date: '2026-11-21', startedAt: '2026-11-21T03:00:00.000Z', kind: 'full', etag: '"b"', ignore: [] };
const headOf = (stopped: object | null, key: string[]) => ({
  ...{ schemaVersion: 2, sequence: 2, end: { run: 'night-2', key, ...END }, pair: null, release: null },
  stopped,
});

test('follows the chain over numbers that a snapshot skips', async () => {
  const { objects, cli } = await aws();
  const put = (key: string, value: object) => objects.set(key, Buffer.from(JSON.stringify(value)));
  const from = { run: 'night-1', date: '2026-11-20' };
  for (const record of [recordOf(1, from.date, { from: null }), recordOf(3, '2026-11-22', { kind: 'snapshot', from })])
    put(recordKey('leads', record.to), record);
  const { end, ...head } = headOf(null, ['id']);
  put(headKey('leads'), { ...head, sequence: 3, end: { ...end, run: 'night-3' } });

  const all = await cli('changes', 'leads', '--since', '0');

  expect(all.stdout.match(/feed \d+/g)).toEqual(['feed 1', 'feed 3']);
  expect([all.stderr, (await cli('changes', 'leads', '--since', '1')).stderr]).toEqual(['', '']);
});

async function chain(stopped: object | null = null, key = ['id']) {
  const { objects, calls, cli } = await aws();
  const put = (key: string, value: object) => objects.set(key, Buffer.from(JSON.stringify(value)));
  for (const record of [recordOf(1, '2026-11-20', { kind: 'snapshot', from: null }), recordOf(2, '2026-11-21')])
    put(recordKey('leads', record.to), record);
  put(headKey('leads'), headOf(stopped, key));
  return {
    /** Conditional writes, and the reason for the release of the next feed. */
    written: () => calls.filter(({ operation }) => operation === 'PutObject').map(({ headers }) => headers['if-match']),
    reason: () => JSON.parse(String(objects.get(headKey('leads')))).release,
    cli: (...args: string[]) => cli('changes', ...args),
  };
}

test('--release lets the next feed through with a conditional write to the head', async () => {
  const { cli, written, reason } = await chain(STOPPED);

  expect(await cli('leads', '--release', '--reason', 'Archived.')).toMatchObject({ code: 0 });
  expect(written()).toEqual([expect.any(String)]);
  expect(reason()).toBe('Archived.');
});
