import { expect, test } from 'vitest';
import { headKey, recordKey } from '../../../core/changes/chain/feed-keys.ts';
import { aws } from '../support/cloud/cloud.ts';

const recordOf = (sequence: number, date: string, more: object = {}) => ({
  ...{ schemaVersion: 2, entity: 'leads', sequence, kind: 'changes' },
  from: { run: 'night-0', date: '2026-11-19' },
  to: { run: `night-${sequence}`, date },
  ...{ key: ['id'], ignore: [], feed: { bytes: 1, etag: '"a"' }, rows: 40 },
  ...{ inserts: 1, deletes: 2, updates: 3, unmatched: 0, keys: 40, gone: 2, released: null },
  ...more,
});
const STOPPED = { run: 'night-3', date: '2026-11-22', keys: 40, gone: 20, at: '2026-11-22T03:00:00.000Z' };
const END = { date: '2026-11-21', startedAt: '2026-11-21T03:00:00.000Z', kind: 'full', etag: '"b"', ignore: [] };
const headOf = (stopped: object | null, key: string[]) => ({
  ...{ schemaVersion: 2, sequence: 2, end: { run: 'night-2', key, ...END }, pair: null, release: null },
  stopped,
});

async function chain(stopped: object | null = null, key = ['id']) {
  const { objects, calls, cli } = await aws();
  const put = (key: string, value: object) => objects.set(key, Buffer.from(JSON.stringify(value)));
  for (const record of [recordOf(1, '2026-11-20', { kind: 'snapshot', from: null }), recordOf(2, '2026-11-21')])
    put(recordKey('leads', record.to), record);
  put(headKey('leads'), headOf(stopped, key));
  return {
    /** Conditional writes, and why the next feed is let through now. */
    written: () => calls.filter(({ operation }) => operation === 'PutObject').map(({ headers }) => headers['if-match']),
    reason: () => JSON.parse(String(objects.get(headKey('leads')))).release,
    cli: (...args: string[]) => cli('changes', ...args),
  };
}

test('says that a mass deletion was stopped, and how to let it through, though the rows of the last feed are gone', async () => {
  const { cli } = await chain(STOPPED);

  const { code, stderr } = await cli('leads');

  expect(code).toBe(1);
  expect(stderr).toContain('Stopped: 20 of 40 keys were gone from the table of 2026-11-22.');
  expect(stderr).toMatch(/changes leads --release --reason/);
});

test.each([
  [['id'], /^Which: npx --no -- crm-export diff leads --from 2026-11-21 --to 2026-11-22 --show-keys --endpoint/m],
  [['email'], /^Which: .* --to 2026-11-22 --key email --show-keys /m],
  [['id', 'email'], /^Which: .* --to 2026-11-22 --show-keys /m],
])('says which command shows the keys that are gone: %j', async (key, which) => {
  const { cli } = await chain(STOPPED, key);

  expect((await cli('leads')).stderr).toMatch(which);
});

test('names no command for what is gone where the table of the same date was written again', async () => {
  const { cli } = await chain({ ...STOPPED, date: '2026-11-21' });

  expect((await cli('leads')).stderr).not.toContain('Which');
});

test('says that rows were gone where all of them would have been told', async () => {
  const { cli } = await chain({ ...STOPPED, of: 'rows' });

  expect((await cli('leads')).stderr).toContain('Stopped: 20 of 40 rows were gone from the table of 2026-11-22.');
  expect((await cli('leads', '--release', '--reason', 'Archived')).stderr).toContain('20 rows gone on 2026-11-22');
});

test('lets the next feed through, on the condition that nobody moved the head', async () => {
  const { cli, written, reason } = await chain(STOPPED);

  expect(await cli('leads', '--release', '--reason', 'Archived.')).toMatchObject({ code: 0 });
  expect(written()).toEqual([expect.any(String)]);
  expect(reason()).toBe('Archived.');
});

test.each([
  [['nobody'], 'There is no entity "nobody"'],
  [['leads', '--release'], 'go together'],
  [['leads', '--reason', 'x'], 'go together'],
  [['leads', '--release', '--reason', ' '], 'at most 500 characters'],
  [['leads', '--release', '--reason', 'x'], 'No feed of leads is stopped'],
  [['leads', '--release', '--reason', 'x', '--json'], 'cannot be used with option'],
])('refuses %j', async (args, why) => {
  const { cli, written } = await chain();

  expect(await cli(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining(why) });
  expect(written()).toEqual([]);
});
