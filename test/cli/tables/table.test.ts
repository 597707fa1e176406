import { describe, expect, test } from 'vitest';
import { settingsDigest } from '../../../core/config/settings-digest.ts';
import type { RunState } from '../../../core/step/states.ts';
import { deployment, newState, run, runState, storedFile } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { expectResults } from '../../support/screen.ts';
import { type Answers, refused } from '../support/cloud/answers.ts';
import { aws, awsWithTarget } from '../support/cloud/cloud.ts';
import { type Execution, execution, executions } from '../support/cloud/executions.ts';
import { configured, stack } from '../support/cloud/stack.ts';
import type { CliResult } from '../support/run-cli.ts';

/** Tests commands on tables that exist and that do not. */

clockAt('2026-11-30T12:00:00.000Z');

const NIGHT = 'leads-night';
const DATE = '2026-11-20';
const manifestKey = `runs/entity=leads/run=${NIGHT}/_manifest.json`;
const begun = runState({ run: run(), manifestKey, file: storedFile({ bytes: 12 }), rows: 1, outcome: 'TABLE_DUE' });
const lacking = execution(NIGHT, {
  ...{ status: 'FAILED', error: 'TableNotWritten', cause: 'A key is missing.', stop: `${DATE}T01:05:00.000Z` },
  entered: [
    ['PublishFile', `${DATE}T01:03:00.000Z`, begun],
    ['WriteTable', `${DATE}T01:04:00.000Z`, begun],
    ['RunFailed', `${DATE}T01:05:00.000Z`, { ...begun, input: null, outcome: 'FAILED' }],
  ],
});
const input = { entity: 'leads', table: { run: NIGHT } };
const table = { run: NIGHT, date: DATE, key: `tables/entity=leads/date=${DATE}/leads.parquet`, rows: 7, bytes: 900 };
const tableState = newState(input, { outcome: 'WRITTEN', table: { ...table, warnings: ['A value does not fit.'] } });
const written = execution('leads-table-20261121T080000Z-1a2b3c', {
  input,
  output: JSON.stringify(tableState),
  start: '2026-11-21T08:00:00.000Z',
  stop: '2026-11-21T08:00:05.000Z',
  entered: [
    ['WriteTable', '2026-11-21T08:00:01.000Z', newState(input)],
    ['TableWritten', '2026-11-21T08:00:05.000Z', tableState],
  ],
});
const superseded: Execution = {
  ...written,
  name: 'leads-table-20261121T090000Z-1a2b3c',
  start: '2026-11-21T09:00:00.000Z',
  stop: '2026-11-21T09:00:05.000Z',
  output: JSON.stringify(newState(input, { outcome: 'SUPERSEDED' })),
};

async function cloudWith(runs: Execution[] = [lacking], tables = 'leads') {
  const entities = tables === '' ? {} : { [tables]: { tables: {} } };
  const cloud = await awsWithTarget(stack({ TimeZone: 'UTC' }), configured({ entities }), executions(runs));
  cloud.publish({ pointers: ['date', 'latest'] });
  return cloud;
}

test.each([
  ['the name of its run', [NIGHT]],
  ['its entity, for the latest file', ['leads']],
  ['its entity and its date', ['leads', '--date', DATE]],
])('table finds the run by %s, and starts an execution that writes only the table', async (_, args) => {
  const { cli, started } = await cloudWith();

  const { code, stderr } = await cli('table', ...args);

  expect(code, stderr).toBe(0);
  expect(started).toEqual([input]);
});

test('table refuses what it cannot write, and starts no execution', async () => {
  const refusals: [string, string[], tables?: string][] = [
    ['an unknown run', ['leads-nite']],
    ['a date without a published file', ['leads', '--date', '2026-11-01']],
    ['a date together with a run', [NIGHT, '--date', DATE]],
    ['an entity without tables', ['leads'], ''],
    ['a run that is no longer published for its date', [NIGHT]],
  ];
  const results: [string, CliResult][] = [];
  for (const [what, args, tables] of refusals) {
    const { cli, publish, started } = await cloudWith([lacking], tables);
    if (/no longer/.test(what)) publish({ execution: 'leads-later', pointers: ['date', 'latest'] });
    const result = await cli('table', ...args);
    expect([what, result.code, started]).toEqual([what, 2, []]);
    results.push([what, result]);
  }

  await expectResults('table-refusals', results);
});

test('retry of a run without its table writes only the table; with --fresh it exports again', async () => {
  const { cli, started } = await cloudWith();

  expect(await cli('retry', NIGHT)).toMatchObject({ code: 0 });
  expect(await cli('retry', NIGHT, '--fresh')).toMatchObject({ code: 0 });

  expect(started).toMatchObject([input, { entity: 'leads', date: DATE }]);
  expect(started[1]).not.toHaveProperty('table');
});

test('table, retry, show and follow describe a published run without its table, and runs that write only a table', async () => {
  const { cli } = await cloudWith();
  const { cli: later } = await cloudWith([superseded, written]);
  const follows = await cli('follow', NIGHT);

  expect(follows.code).toBe(1);
  await expectResults('tables', [
    ['table', await cli('table', NIGHT)],
    ['retry without a table', await cli('retry', NIGHT)],
    ['show without a table', await cli('show', NIGHT)],
    ['follow without a table', follows],
    ['show of a written table', await later('show', written.name)],
    ['follow of a written table', await later('follow', written.name)],
    ['follow of a superseded table', await later('follow', superseded.name)],
  ]);
});

/** `table ENTITY --outdated`: rewrites every table with outdated settings, one run for each date. */

const leads = { tables: { hash: ['id'] } };
const TODAY = settingsDigest(deployment({ entities: { leads } }).entities.leads);
const keyOf = (date: string, version = '') => `tables/${version}entity=leads/date=${date}/leads.parquet`;

type Ended = Omit<Execution, 'name' | 'input'>;

const rewritten: Ended = {
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
  ...rewritten,
  status: 'FAILED',
  error: 'TableNotWritten',
  cause: 'A key is missing.',
  output: '',
};
const overtaken: Ended = { ...rewritten, output: JSON.stringify(newState({}, { outcome: 'SUPERSEDED' })) };

/** A cloud with tables by date and digest; '' for a table of an earlier release. */
async function withTables(
  tables: Record<string, string>,
  onStart: () => Ended = () => rewritten,
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

const runsFor = (...dates: string[]) => dates.map((date) => ({ entity: 'leads', table: { run: `leads-${date}` } }));

test('writes tables of other settings or earlier releases again, but no current tables, and lists them', async () => {
  const results: [string, CliResult][] = [];
  const mixed = await withTables(MIXED);
  results.push(['a dry run', await mixed.cli('leads', '--outdated', '--dry-run')]);
  expect(mixed.started).toEqual([]);
  results.push(['tables of other settings and of an earlier release', await mixed.cli('leads', '--outdated')]);
  expect(mixed.started).toEqual(runsFor('2026-11-18', '2026-11-20'));
  const current = await withTables({ '2026-11-19': TODAY });
  results.push(['all tables are current', await current.cli('leads', '--outdated')]);
  results.push(['an entity without tables', await current.cli('contacts', '--outdated')]);
  expect(current.started).toEqual([]);

  expect(results.map(([, { code }]) => code)).toEqual([0, 0, 0, 2]);
  await expectResults('table-outdated', results);
});

test('names each table that is not written, writes the others, and exits with 1', async () => {
  const earlier = await withTables(MIXED);
  earlier.objects.set('published/entity=leads/date=2026-11-18.json', Buffer.from('{"schemaVersion":1}'));
  const results: [string, CliResult][] = [['of an earlier release', await earlier.cli('leads', '--outdated')]];
  expect(earlier.started).toEqual(runsFor('2026-11-20'));
  for (const [what, end] of [
    ['failed', failed],
    ['superseded by another run', overtaken],
  ] as const) {
    const ends = [end, rewritten];
    const { cli, started } = await withTables(MIXED, () => ends.shift() ?? rewritten);
    results.push([what, await cli('leads', '--outdated')]);
    expect(started).toHaveLength(2);
  }

  expect(results.map(([, { code }]) => code)).toEqual([1, 1, 1]);
  await expectResults('table-not-written', results);
});

describe('what no run can write again is removed', () => {
  const folder = (date: string) => `changes/entity=leads/date=${date}/run=leads-${date}/`;
  const objectsOf = (date: string) => [
    `${folder(date)}_feed.json`,
    `${folder(date)}changes.parquet`,
    `changes/entity=leads/base/run=leads-${date}.parquet`,
  ];
  const others = ['2026-11-18', '2026-11-19'].flatMap(objectsOf);
  const ofToday = objectsOf('2026-11-20');
  const HEAD = 'changes/entity=leads/head.json';
  const OF_CONTACTS = 'changes/entity=contacts/base/run=contacts-1.parquet';
  const withFeeds = async () => {
    const world = await withTables({ '2026-11-18': 'b'.repeat(16), '2026-11-20': TODAY });
    for (const key of [...others, ...ofToday, HEAD, OF_CONTACTS]) world.objects.set(key, Buffer.from('PAR1'));
    for (const key of ofToday) world.metadata.set(key, { settings: TODAY });
    return world;
  };
  const changesIn = (objects: Map<string, Buffer>) => [...objects.keys()].filter((key) => key.startsWith('changes/'));

  test('feeds and copied tables of other settings, and copies of an entity without tables, but not the head', async () => {
    const { cli, started, objects } = await withFeeds();
    const results: [string, CliResult][] = [['a dry run', await cli('leads', '--outdated', '--dry-run')]];
    expect([started, changesIn(objects).length]).toEqual([[], others.length + ofToday.length + 2]);
    results.push(['feeds and a table', await cli('leads', '--outdated')]);
    expect(started).toEqual(runsFor('2026-11-18'));
    expect(changesIn(objects)).toEqual([...ofToday, HEAD, OF_CONTACTS]);
    results.push(['an entity without tables', await cli('contacts', '--outdated')]);
    expect(changesIn(objects)).toEqual([...ofToday, HEAD]);

    expect(results.map(([, { code }]) => code)).toEqual([0, 0, 0]);
    await expectResults('table-removed', results);
  });

  test('a table of an earlier table version, or whose date has no published file any more', async () => {
    const version2 = await withTables({}, undefined, 2);
    version2.publish({ date: '2026-11-18', execution: 'leads-2026-11-18', pointers: ['date', 'latest'] });
    version2.objects.set(keyOf('2026-11-18'), Buffer.from('PAR1'));
    expect(await version2.cli('leads', '--outdated')).toMatchObject({ code: 0 });
    expect([version2.started, version2.objects.has(keyOf('2026-11-18'))]).toEqual([[], false]);

    const { cli, started, objects } = await withTables(MIXED);
    objects.delete('published/entity=leads/date=2026-11-18.json');
    await cli('leads', '--outdated', '--dry-run');
    expect(objects.has(keyOf('2026-11-18'))).toBe(true);
    expect(await cli('leads', '--outdated')).toMatchObject({ code: 0 });
    expect(objects.has(keyOf('2026-11-18'))).toBe(false);
    expect(started).toEqual(runsFor('2026-11-20'));
  });

  test('nothing, and no execution starts, without the right to delete', async () => {
    const { cli, started, objects } = await withTables({ '2026-11-18': '' }, undefined, 1, {
      DeleteObject: refused('AccessDenied', 'no', { status: 403 }),
    });
    objects.set(others.at(-1) ?? '', Buffer.from('PAR1'));

    expect(await cli('leads', '--outdated')).toMatchObject({ code: 3, stdout: '' });
    expect(started).toEqual([]);
  });
});
