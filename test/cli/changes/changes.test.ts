import { expect, test } from 'vitest';
import { changesSchema } from '../../../cli/changes/changes.ts';
import { headKey, recordKey } from '../../../core/changes/feed-keys.ts';
import { dateAfter } from '../../../core/schedule/local-time.ts';
import { expectResults } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import type { CliResult } from '../support/run-cli.ts';

/** The run of a night, from 1 on. */
const nightOf = (place: number) => ({ run: `night-${place}`, date: dateAfter('2026-11-19', place) });

/** The record of a feed. The first one of a chain has all rows. */
const feed = (sequence: number, more: object = {}) => ({
  ...{ schemaVersion: 2, entity: 'leads', sequence, kind: sequence === 1 ? 'snapshot' : 'changes' },
  from: sequence === 1 ? null : nightOf(sequence - 1),
  to: nightOf(sequence),
  ...{ key: ['id'], ignore: [], feed: { bytes: 1, etag: '"a"' }, rows: 40 },
  ...{ inserts: 1, deletes: 2, updates: 3, unmatched: 0, keys: 40, gone: 2, released: null },
  ...more,
});
type Feed = ReturnType<typeof feed>;

interface Chain {
  feeds?: Feed[];
  /** The feed that the head names. */
  last?: Feed | undefined;
  stopped?: object | null;
  key?: string[];
}

async function chain({ feeds = [feed(1), feed(2)], last = feeds.at(-1), stopped = null, key = ['id'] }: Chain = {}) {
  const { objects, calls, cli } = await aws();
  const put = (name: string, value: object) => objects.set(name, Buffer.from(JSON.stringify(value)));
  for (const record of feeds) put(recordKey('leads', record.to), record);
  const of = { startedAt: '2026-11-21T03:00:00.000Z', kind: 'full', etag: '"b"', ignore: [], key };
  put(headKey('leads'), {
    ...{ schemaVersion: 2, sequence: last?.sequence, end: { ...last?.to, ...of }, pair: null, release: null, stopped },
  });
  return {
    /** Conditional writes, and the reason for the release of the next feed. */
    written: () => calls.filter(({ operation }) => operation === 'PutObject').map(({ headers }) => headers['if-match']),
    reason: () => JSON.parse(String(objects.get(headKey('leads')))).release,
    changes: (...args: string[]) => cli('changes', 'leads', ...args),
  };
}

const STOPPED = { run: 'night-3', date: '2026-11-22', of: 'keys', keys: 40, gone: 20, at: '2026-11-22T03:00:00.000Z' };

test('prints feeds, the end of their chain, lost feeds and stopped deletions, each in a sentence', async () => {
  const { changes } = await chain({ feeds: [feed(1), feed(2), feed(3)] });
  const results: [string, CliResult][] = [['the newest feed', await changes()]];
  for (const since of ['0', '1', '3', '9']) results.push([`since ${since} of 3`, await changes('--since', since)]);
  results.push(['all feeds are lost', await (await chain({ feeds: [], last: feed(3) })).changes()]);
  results.push(['no feed yet', await (await aws()).cli('changes', 'leads')]);
  const reset = await chain({ feeds: [feed(3), feed(4, { kind: 'snapshot' })] });
  for (const since of ['0', '1']) results.push([`lost feeds since ${since}`, await reset.changes('--since', since)]);
  for (const [what, stopped, key] of [
    ['missing keys', STOPPED, ['id']],
    ['missing values of another column', STOPPED, ['email']],
    ['missing keys of two columns', STOPPED, ['id', 'email']],
    ['missing keys of a table that was written again', { ...STOPPED, date: '2026-11-21' }, ['id']],
    ['missing rows', { ...STOPPED, of: 'rows' }, ['id']],
  ] as const)
    results.push([`stopped: ${what}`, await (await chain({ stopped, key: [...key] })).changes()]);
  const release = ['--release', '--reason'];
  for (const of of ['keys', 'rows']) {
    const released = await chain({ stopped: { ...STOPPED, of } });
    results.push([`released: missing ${of}`, await released.changes(...release, 'Archived')]);
  }
  const notStopped = await chain();
  for (const reason of [' ', 'x'])
    results.push([`no feed is stopped, reason "${reason}"`, await notStopped.changes(...release, reason)]);

  await expectResults('changes', results);
  expect(notStopped.written()).toEqual([]);
});

test('--json prints the records of the feeds, and that nothing is stopped', async () => {
  const { changes } = await chain();

  const { stdout } = await changes('--since', '0', '--json');

  const document = JSON.parse(stdout);
  expect(changesSchema.parse(document)).toEqual(document);
  expect(document).toMatchObject({
    ...{ entity: 'leads', stopped: null, release: null },
    feeds: [
      { sequence: 1, kind: 'snapshot', rows: 40 },
      { sequence: 2, kind: 'changes', inserts: 1, deletes: 2, updates: 3 },
    ],
  });
});

test('shows the feeds of the current chain, even if an earlier chain was longer', async () => {
  const [first, second] = [4, 5].map(nightOf);
  const anew = [feed(1, { to: first }), feed(2, { from: first, to: second })];
  const { changes } = await chain({ feeds: [feed(1), feed(2), feed(3), ...anew], last: anew[1] });

  const { stdout } = await changes('--since', '0');

  expect(stdout.match(/feed \d+, \S+/g)).toEqual(['feed 1, 2026-11-23:', 'feed 2, 2026-11-23']);
});

test('follows the chain over numbers that a snapshot skips', async () => {
  const { changes } = await chain({ feeds: [feed(1), feed(3, { kind: 'snapshot', from: nightOf(1) })] });

  const all = await changes('--since', '0');

  expect(all.stdout.match(/feed \d+/g)).toEqual(['feed 1', 'feed 3']);
  expect([all.stderr, (await changes('--since', '1')).stderr]).toEqual(['', '']);
});

test('--release lets the next feed through with a conditional write to the head', async () => {
  const { changes, written, reason } = await chain({ stopped: STOPPED });

  expect(await changes('--release', '--reason', 'Archived.')).toMatchObject({ code: 0 });
  expect(written()).toEqual([expect.any(String)]);
  expect(reason()).toBe('Archived.');
});
