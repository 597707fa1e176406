import { expect, test } from 'vitest';
import { nightsOf } from '../../../cli/night/night.ts';
import { gatherFacts } from '../../../cli/night/night-facts.ts';
import { reportPage } from '../../../cli/report/night-report.ts';
import { listRuns, runsText } from '../../../cli/runs/list-runs.ts';
import { LAYOUT } from '../../../core/export/layout.ts';
import { nightKey } from '../../../core/night/night-record.ts';
import { newState, run, runState, storedFile } from '../../support/builders.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { configured, stack } from '../support/cloud/stack.ts';

/** Tests commands on tables that exist and that do not. */

const NIGHT = 'leads-night';
const DATE = '2026-11-20';
const manifestKey = `runs/entity=leads/run=${NIGHT}/_manifest.json`;
const begun = runState({ run: run(), manifestKey, file: storedFile({ bytes: 12 }), rows: 1, outcome: 'TABLE_DUE' });
const lacking: Execution = {
  name: NIGHT,
  status: 'FAILED',
  input: { entity: 'leads' },
  error: 'TableNotWritten',
  cause: 'A key is missing.',
  start: `${DATE}T01:00:00.000Z`,
  stop: `${DATE}T01:05:00.000Z`,
  entered: [
    ['PublishFile', `${DATE}T01:03:00.000Z`, begun],
    ['WriteTable', `${DATE}T01:04:00.000Z`, begun],
    ['RunFailed', `${DATE}T01:05:00.000Z`, { ...begun, input: null, outcome: 'FAILED' }],
  ],
};
const input = { entity: 'leads', table: { run: NIGHT } };
const table = { run: NIGHT, date: DATE, key: `tables/entity=leads/date=${DATE}/leads.parquet`, rows: 7, bytes: 900 };
const tableState = newState(input, { outcome: 'WRITTEN', table: { ...table, warnings: ['A value does not fit.'] } });
const written: Execution = {
  name: 'leads-table-20261121T080000Z-1a2b3c',
  status: 'SUCCEEDED',
  input,
  output: JSON.stringify(tableState),
  start: '2026-11-21T08:00:00.000Z',
  stop: '2026-11-21T08:00:05.000Z',
  entered: [
    ['WriteTable', '2026-11-21T08:00:01.000Z', newState(input)],
    ['TableWritten', '2026-11-21T08:00:05.000Z', tableState],
  ],
};
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
  expect(stderr).toMatch(/^leads-table-\S+ writes the table of leads-night\.\nTo follow: /);
});

test.each<[string, string[], string, RegExp]>([
  ['an unknown run', ['leads-nite'], 'leads', /There is no run "leads-nite"/],
  ['a date without a published file', ['leads', '--date', '2026-11-01'], 'leads', /No file of leads is published for/],
  ['a date together with a run', [NIGHT, '--date', DATE], 'leads', /--date needs an entity/],
  ['an entity without tables', ['leads'], '', /no `tables` for leads/],
])('table refuses %s and starts no execution', async (_, args, tables, says) => {
  const { cli, started } = await cloudWith([lacking], tables);

  expect(await cli('table', ...args)).toMatchObject({ code: 2, stderr: expect.stringMatching(says) });
  expect(started).toEqual([]);
});

test('table refuses a run that is no longer published for its date, and names the published run', async () => {
  const { cli, publish, started } = await cloudWith();
  publish({ execution: 'leads-later', pointers: ['date', 'latest'] });

  expect(await cli('table', NIGHT)).toMatchObject({ code: 2, stderr: expect.stringContaining('the run leads-later') });
  expect(started).toEqual([]);
});

test('retry of a run without its table writes only the table; with --fresh it exports again', async () => {
  const { cli, started } = await cloudWith();

  expect((await cli('retry', NIGHT)).stderr).toContain('the table of leads-night alone');
  expect(await cli('retry', NIGHT, '--fresh')).toMatchObject({ code: 0 });

  expect(started).toMatchObject([input, { entity: 'leads', date: DATE }]);
  expect(started[1]).not.toHaveProperty('table');
});

test('list, show and follow report a run as published without its table', async () => {
  const { cli, target } = await cloudWith();
  const wanted = { entities: [], since: new Date(DATE), failed: false, warn: () => undefined };
  const [row] = await listRuns(target, wanted);
  const shown = await cli('show', NIGHT);

  expect(runsText(row ? [row] : [], {}, wanted)).toContain('\tpublished, no table\t');
  expect(shown.stdout).toContain('leads of 2026-11-20, published, no table, ');
  expect(shown.stdout).toContain('The table is not written; the file is published.');
  expect(shown.stdout).toMatch(/Runbook: docs\/runbook\.md#tablenotwritten/);
  expect(shown.stdout).toContain('Next: npx --no -- crm-export table leads-night');
  expect(await cli('follow', NIGHT)).toMatchObject({ code: 1, stderr: expect.stringContaining('TableNotWritten') });
});

test('list, show and follow report an execution that wrote only a table as such', async () => {
  const { cli, target } = await cloudWith([superseded, written]);
  const wanted = { entities: [], since: new Date(DATE), failed: false, warn: () => undefined };
  const rows = (await listRuns(target, wanted)).filter(({ what }) => what === 'table');

  expect(rows.map(({ date, rows, bytes }) => [date, rows, bytes])).toEqual([
    [null, null, null],
    [DATE, 7, 900],
  ]);
  const [first = '', second = ''] = runsText(rows, {}, wanted).split('\n');
  expect([first, second].map((line) => line.split('\t')[3])).toEqual(['table, superseded', 'table']);
  const shown = await cli('show', written.name);
  expect(shown.stdout).toContain(`table of ${NIGHT}`);
  expect(shown.stdout).toContain('A value does not fit.');
  expect((await cli('follow', written.name)).stdout).toContain(
    'leads of 2026-11-20, table of leads-night, 7 rows, 900 B, table tables/',
  );
  expect((await cli('follow', superseded.name)).stdout).toContain('leads, table of leads-night, superseded');
});

test.each<[string, object | null, string]>([
  ['reports a missing table that the night waits for', null, 'withoutTable'],
  ['reports a published run once its table is written', { key: 'k', etag: 'e' }, 'published'],
])('the report %s', async (_, table, outcome) => {
  const { target, objects } = await cloudWith([lacking]);
  const file = { run: NIGHT, manifestKey, key: 'k', rows: 1, bytes: 1, crc32: '' };
  const leads = { file, tableVersion: 1, table, feed: null, error: null };
  const night = { schemaVersion: LAYOUT, date: DATE, revision: 1, complete: table !== null, entities: { leads } };
  objects.set(nightKey(DATE), Buffer.from(JSON.stringify(night)));
  const now = new Date('2026-11-20T12:00:00Z');
  const wanted = { deployment: 'test', nights: 3, now, warn: () => undefined };

  const data = nightsOf(await gatherFacts(target, wanted));

  const cell = data.rows.find(({ entity }) => entity === 'leads')?.cells.find(({ date }) => date === DATE);
  expect(cell).toMatchObject({ outcome, attempts: [] });
  expect(reportPage(data).includes('npx --no -- crm-export table leads-night')).toBe(table === null);
});
