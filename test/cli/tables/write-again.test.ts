import { describe, expect, test } from 'vitest';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import type { RunState } from '../../../core/step/states.ts';
import { deployment, newState } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { expectResults } from '../../support/screen.ts';
import { type Answers, refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { configured, stack } from '../support/cloud/stack.ts';
import type { CliResult } from '../support/run-cli.ts';

/** `table ENTITY --outdated`: rewrites every table with outdated settings, one run for each date. */

clockAt('2026-11-30T12:00:00.000Z');

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

/** A cloud with tables by date and digest; '' for a table of an earlier release. */
async function cloudWith(
  tables: Record<string, string>,
  onStart: () => Ended = () => written,
  version = 1,
  answers: Answers = {},
) {
  const entities = { leads: { tables: { ...leads.tables, version } } };
  const cloud = await aws(stack({ TimeZone: 'UTC' }), configured({ entities }), executions([], { onStart }), answers);
  for (const [date, digest] of Object.entries(tables)) {
    cloud.publish({ date, execution: `leads-${date}`, pointers: ['date', 'latest'] });
    cloud.objects.set(keyOf(date), Buffer.from('PAR1'));
    if (digest !== '') cloud.metadata.set(keyOf(date), { settings: digest });
  }
  return { ...cloud, cli: (...args: string[]) => cloud.cli('table', ...args) };
}

const MIXED = { '2026-11-18': 'b'.repeat(16), '2026-11-19': TODAY, '2026-11-20': '' };

test('--outdated writes tables of other settings or earlier releases again, and no current ones', async () => {
  const { cli, started } = await cloudWith(MIXED);

  const { code, stdout, stderr } = await cli('leads', '--outdated');

  expect(code, stderr).toBe(0);
  expect(started).toEqual([
    { entity: 'leads', table: { run: 'leads-2026-11-18' } },
    { entity: 'leads', table: { run: 'leads-2026-11-20' } },
  ]);
  expect(stdout.match(/^\S+: \w+/gm)).toEqual(['2026-11-18: written', '2026-11-20: written']);
});

test('--dry-run lists the dates and starts no execution', async () => {
  const { cli, started } = await cloudWith(MIXED);

  const dates = ['2026-11-18', '2026-11-20'];
  expect((await cli('leads', '--outdated', '--dry-run')).stdout).toBe(
    dates.map((date) => `${date}: outdated\n`).join(''),
  );
  expect(started).toEqual([]);
});

test('says that all tables have the current settings, and starts no execution', async () => {
  const { cli, started } = await cloudWith({ '2026-11-19': TODAY });

  expect((await cli('leads', '--outdated')).stdout).toBe(
    'Everything of leads was written under the current column settings.\n',
  );
  expect(started).toEqual([]);
});

test('reports a date whose pointer an earlier release wrote, and writes the other tables', async () => {
  const { cli, started, objects } = await cloudWith(MIXED);
  objects.set('published/entity=leads/date=2026-11-18.json', Buffer.from('{"schemaVersion":1}'));

  const { code, stdout } = await cli('leads', '--outdated');

  expect(code).toBe(1);
  expect(stdout.match(/^\S+: \w+/gm)).toEqual(['2026-11-18: failed', '2026-11-20: written']);
  expect(started).toHaveLength(1);
});

test('removes a table of an earlier table version', async () => {
  const { cli, started, objects } = await cloudWith({}, undefined, 2);
  objects.set(keyOf('2026-11-18'), Buffer.from('PAR1'));

  expect(await cli('leads', '--outdated')).toMatchObject({ code: 0, stdout: 'Removed: 1 table\n' });
  expect(started).toEqual([]);
  expect([...objects.keys()]).toEqual([]);
});

describe('with feeds of changes', () => {
  const folder = (date: string) => `changes/entity=leads/date=${date}/run=leads-${date}/`;
  const copyOf = (date: string) => `changes/entity=leads/base/run=leads-${date}.parquet`;
  const others = ['2026-11-18', '2026-11-19'].flatMap((date) => [
    `${folder(date)}_feed.json`,
    `${folder(date)}changes.parquet`,
    copyOf(date),
  ]);
  const ofToday = [`${folder('2026-11-20')}_feed.json`, `${folder('2026-11-20')}changes.parquet`, copyOf('2026-11-20')];
  const HEAD = 'changes/entity=leads/head.json';
  const OF_CONTACTS = 'changes/entity=contacts/base/run=contacts-1.parquet';
  const cloud = async () => {
    const world = await cloudWith({ '2026-11-18': 'b'.repeat(16), '2026-11-20': TODAY });
    for (const key of [...others, ...ofToday, HEAD, OF_CONTACTS]) world.objects.set(key, Buffer.from('PAR1'));
    for (const key of ofToday) world.metadata.set(key, { settings: TODAY });
    return world;
  };
  const changesIn = (objects: Map<string, Buffer>) => [...objects.keys()].filter((key) => key.startsWith('changes/'));

  test('removes feeds and copied tables of other settings, and keeps the head', async () => {
    const { cli, started, objects } = await cloud();

    const { code, stdout } = await cli('leads', '--outdated');

    expect({ code, started }).toEqual({ code: 0, started: [{ entity: 'leads', table: { run: 'leads-2026-11-18' } }] });
    expect(stdout.split('\n')[0]).toBe('Removed: 2 feeds, 2 copied tables');
    expect(changesIn(objects)).toEqual([...ofToday, HEAD, OF_CONTACTS]);
  });

  test('--dry-run counts them and removes none', async () => {
    const { cli, objects } = await cloud();

    expect((await cli('leads', '--outdated', '--dry-run')).stdout).toBe(
      'To be removed: 2 feeds, 2 copied tables\n2026-11-18: outdated\n',
    );
    expect(changesIn(objects)).toHaveLength(others.length + ofToday.length + 2);
  });

  test('removes the copied tables of an entity that has no tables any more', async () => {
    const { cli, objects } = await cloud();

    expect(await cli('contacts', '--outdated')).toMatchObject({ code: 0, stdout: 'Removed: 1 copied table\n' });
    expect(changesIn(objects)).not.toContain(OF_CONTACTS);
  });

  test('starts no execution if the right to delete is missing', async () => {
    const world = await cloudWith({ '2026-11-18': '' }, undefined, 1, {
      DeleteObject: refused('AccessDenied', 'no', { status: 403 }),
    });
    world.objects.set(copyOf('2026-11-18'), Buffer.from('PAR1'));

    expect(await world.cli('leads', '--outdated')).toMatchObject({ code: 3, stdout: '' });
    expect(world.started).toEqual([]);
  });
});

test('names each table that is not written, writes the others, and exits with 1', async () => {
  const earlier = await cloudWith(MIXED);
  earlier.objects.set('published/entity=leads/date=2026-11-18.json', Buffer.from('{"schemaVersion":1}'));
  const results: [string, CliResult][] = [['of an earlier release', await earlier.cli('leads', '--outdated')]];
  for (const [what, end] of [
    ['failed', failed],
    ['superseded by another run', superseded],
  ] as const) {
    const ends = [end, written];
    const { cli, started } = await cloudWith(MIXED, () => ends.shift() ?? written);
    const result = await cli('leads', '--outdated');
    expect([result.code, started.length]).toEqual([1, 2]);
    results.push([what, result]);
  }

  await expectResults('table-outdated', results);
});

test('removes a table whose date has no published file any more: no run can write it again', async () => {
  const { cli, started, objects } = await cloudWith(MIXED);
  objects.delete('published/entity=leads/date=2026-11-18.json');

  expect((await cli('leads', '--outdated', '--dry-run')).stdout).toBe('To be removed: 1 table\n2026-11-20: outdated\n');
  expect(await cli('leads', '--outdated')).toMatchObject({
    code: 0,
  });
  expect(objects.has(keyOf('2026-11-18'))).toBe(false);
  expect(started).toEqual([{ entity: 'leads', table: { run: 'leads-2026-11-20' } }]);
});

test('refuses an entity without tables and starts no execution', async () => {
  const { cli, started } = await cloudWith(MIXED);

  expect((await cli('contacts', '--outdated')).code).toBe(2);
  expect(started).toEqual([]);
});
