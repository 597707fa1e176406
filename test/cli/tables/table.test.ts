import { expect, test } from 'vitest';
import { newState, run, runState, storedFile } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { expectResults } from '../../support/screen.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
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
