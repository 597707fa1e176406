import { expect, test } from 'vitest';
import { addTable } from '../../../cli/tables/table.ts';
import type { RunState } from '../../../core/step/states.ts';
import { settingsDigest } from '../../../core/table/settings-digest.ts';
import { deployment, newState } from '../../support/builders.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { configured, stack } from '../support/cloud/stack.ts';
import { useCommands } from '../support/run-cli.ts';

useCommands({ table: addTable });

/** `table ENTITY --outdated`: every table that stands under other settings than those that are deployed, one run for each date. */

const leads = { tables: { hash: ['id'] } };
const TODAY = settingsDigest(deployment({ entities: { leads } }).entities.leads);
const keyOf = (date: string, version = '') => `tables/${version}entity=leads/date=${date}/leads.parquet`;

type Ended = Omit<Execution, 'name' | 'input'>;

const written: Ended = {
  status: 'SUCCEEDED',
  start: '2026-11-30T01:00:00.000Z',
  stop: '2026-11-30T01:00:05.000Z',
  output: JSON.stringify(
    newState({}, {
      outcome: 'WRITTEN',
      table: { run: 'r', date: '2026-11-20', key: 'k', rows: 1, bytes: 2, warnings: [] },
    } as Partial<RunState>),
  ),
};
const failed: Ended = {
  ...written,
  status: 'FAILED',
  error: 'TableNotWritten',
  cause: 'A key is missing.',
  output: '',
};
const superseded: Ended = { ...written, output: JSON.stringify(newState({}, { outcome: 'SUPERSEDED' })) };

/** Tables by date, with their digests; '' for one of an earlier release. */
async function cloudWith(tables: Record<string, string>, onStart: () => Ended = () => written, version = 1) {
  const entities = { leads: { tables: { ...leads.tables, version } } };
  const cloud = await aws(stack({ TimeZone: 'UTC' }), configured({ entities }), executions([], { onStart }));
  for (const [date, digest] of Object.entries(tables)) {
    cloud.publish({ date, execution: `leads-${date}`, pointers: ['date', 'latest'] });
    cloud.objects.set(keyOf(date), Buffer.from('PAR1'));
    if (digest !== '') cloud.metadata.set(keyOf(date), { settings: digest });
  }
  return { ...cloud, cli: (...args: string[]) => cloud.cli('table', ...args) };
}

const MIXED = { '2026-11-18': 'b'.repeat(16), '2026-11-19': TODAY, '2026-11-20': '' };

test('tables of other settings and of earlier releases are written again, those of today are not', async () => {
  const { cli, started } = await cloudWith(MIXED);

  const { code, stdout, stderr } = await cli('leads', '--outdated');

  expect(code, stderr).toBe(0);
  expect(started).toEqual([
    { entity: 'leads', table: { run: 'leads-2026-11-18' } },
    { entity: 'leads', table: { run: 'leads-2026-11-20' } },
  ]);
  expect(stdout).toMatch(/^2026-11-18: written, leads-table-\S+\n2026-11-20: written, leads-table-\S+\n$/);
});

test('--dry-run names the dates and starts nothing', async () => {
  const { cli, started } = await cloudWith(MIXED);

  const dates = ['2026-11-18', '2026-11-20'];
  expect((await cli('leads', '--outdated', '--dry-run')).stdout).toBe(
    dates.map((date) => `${date}: outdated\n`).join(''),
  );
  expect(started).toEqual([]);
});

test('where all tables stand under the settings of today, that is said and nothing is started', async () => {
  const { cli, started } = await cloudWith({ '2026-11-19': TODAY });

  expect((await cli('leads', '--outdated')).stdout).toBe("All tables of leads stand under today's settings.\n");
  expect(started).toEqual([]);
});

test('a date whose pointer an earlier release wrote is named, and the other tables are written', async () => {
  const { cli, started, objects } = await cloudWith(MIXED);
  objects.set('published/entity=leads/date=2026-11-18.json', Buffer.from('{"schemaVersion":1}'));

  const { code, stdout, stderr } = await cli('leads', '--outdated');

  expect(code).toBe(1);
  expect(stdout).toMatch(/2026-11-18: failed, NothingPublished\n.*2026-11-20: written/s);
  expect(stderr).toContain('is of an earlier release, so it counts as none');
  expect(started).toHaveLength(1);
});

test('a table of an earlier version is not written again: its folder gets none any more', async () => {
  const { cli, started, objects } = await cloudWith({}, undefined, 2);
  objects.set(keyOf('2026-11-18'), Buffer.from('PAR1'));

  expect((await cli('leads', '--outdated')).code).toBe(0);
  expect(started).toEqual([]);
});

test.each([
  ['failed', failed, 'TableNotWritten'],
  ['was of a date that another run has meanwhile', superseded, 'Superseded'],
])(
  'a table whose run %s is named with its run, the others are written, and the exit code is 1',
  async (_, end, error) => {
    const ends = [end, written];
    const { cli, started } = await cloudWith(MIXED, () => ends.shift() ?? written);

    const { code, stderr, stdout } = await cli('leads', '--outdated', '--concurrency', '1');

    expect(code).toBe(1);
    expect(started).toHaveLength(2);
    expect(stdout).toContain('2026-11-20: written');
    expect(stderr).toMatch(
      new RegExp(
        `^1 table could not be written:\n  2026-11-18: ${error} \\(leads-table-\\S+\\)\nWhy, and what helps: .* show leads-table-\\S+ .*\nTo go on: .*table leads --outdated`,
      ),
    );
  },
);

test('a table whose date has nothing published any more is named, and nothing is started for it', async () => {
  const { cli, started, objects } = await cloudWith({ '2026-11-18': '' });
  objects.delete('published/entity=leads/date=2026-11-18.json');

  expect(await cli('leads', '--outdated')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('2026-11-18: NothingPublished\n'),
  });
  expect(started).toEqual([]);
});

test.each<[string, string[], RegExp]>([
  ['a run', ['leads-night', '--outdated'], /--outdated goes with an entity/],
  ['an entity without tables', ['contacts', '--outdated'], /no `tables` for contacts/],
  ['a date', ['leads', '--outdated', '--date', '2026-11-20'], /cannot be used with option/],
  ['--dry-run without it', ['leads', '--dry-run'], /--dry-run goes with --outdated/],
  ['--concurrency without it', ['leads', '--concurrency', '3'], /--concurrency goes with --outdated/],
])('%s is refused, and nothing is started', async (_, args, says) => {
  const { cli, started } = await cloudWith(MIXED);

  expect(await cli(...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(says) });
  expect(started).toEqual([]);
});
