import { expect, test } from 'vitest';
import { executionsOf, findRun } from '../../../cli/runs/find-run.ts';
import { listRuns } from '../../../cli/runs/list-runs.ts';
import { runState } from '../../support/builders.ts';
import { expectResults } from '../../support/screen.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { arnOf } from '../support/cloud/stack.ts';

/** Runs started by a rule (with a meaningless name) or by the command; newest first, in pages of two. */
const runs: Execution[] = [
  ranOn(21, { name: 'contacts-20261121T020000Z-0a0a0a', status: 'RUNNING', input: { entity: 'contacts' } }),
  ranOn(20, { name: 'f7d3_9b1c', input: { entity: 'leads', scheduledFor: 'x' } }),
  ranOn(19, { name: 'by-hand', status: 'FAILED', input: { entity: 'leeds' } }),
  ranOn(18, { name: 'leads-20261118T020000Z-0b0b0b', status: 'TIMED_OUT', input: { entity: 'leads' } }),
  ranOn(17, { name: 'leads-20261117T020000Z-0c0c0c', status: 'ABORTED', input: { entity: 'leads' } }),
];
const machine = () => awsWithTarget(executions(runs, { page: 2 }));

function ranOn(day: number, run: Partial<Execution>): Execution {
  return { name: '', status: 'SUCCEEDED', input: {}, start: `2026-11-${day}T02:00:00.000Z`, ...run };
}

async function namesOf(found: AsyncGenerator<{ name: string }>): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of found) names.push(name);
  return names;
}

test('an entity finds its newest run, started by a rule or a person', async () => {
  const { target, asked } = await machine();
  expect(await findRun(target, 'leads')).toMatchObject({
    executionArn: arnOf('f7d3_9b1c'),
    name: 'f7d3_9b1c',
    status: 'SUCCEEDED',
    startDate: new Date('2026-11-20T02:00:00Z'),
    stopDate: undefined,
    input: { entity: 'leads', what: 'export' },
  });
  // The command lists no older page.
  expect(asked.filter((line) => line === 'ListExecutions')).toHaveLength(1);
});

test('a run is found by name and by ARN, even if its input names no entity', async () => {
  const { target } = await machine();
  for (const run of ['by-hand', arnOf('by-hand')]) {
    expect(await findRun(target, run)).toMatchObject({
      name: 'by-hand',
      input: { entity: undefined },
      status: 'FAILED',
    });
  }
});

test('a published run is not described again', async () => {
  const { target, calls } = await machine();
  const published = new Map([['f7d3_9b1c', 'leads' as const]]);
  expect(await namesOf(executionsOf(target, { published }))).toHaveLength(runs.length);
  const asked = calls.flatMap(({ operation, input }) => (operation === 'DescribeExecution' ? [input] : []));
  expect(asked).not.toContainEqual({ executionArn: arnOf('f7d3_9b1c') });
});

test('runs are listed newest first over all pages, since a time, or only failed ones', async () => {
  const { target, asked } = await machine();
  expect(await namesOf(executionsOf(target, {}))).toEqual(runs.map(({ name }) => name));
  expect(await namesOf(executionsOf(target, { failed: true }))).toEqual(runs.slice(2).map(({ name }) => name));
  asked.length = 0;
  const since = new Date('2026-11-19T02:00:00Z');
  expect(await namesOf(executionsOf(target, { since }))).toHaveLength(3);
  expect(asked.filter((line) => line === 'ListExecutions')).toHaveLength(2);
});

test('a unique end of a name finds that run, and an end that is too short is refused', async () => {
  const { target } = await machine();
  expect(await findRun(target, '0c0c0c')).toMatchObject({ name: 'leads-20261117T020000Z-0c0c0c' });
  expect(await findRun(target, '9b1c')).toMatchObject({ name: 'f7d3_9b1c' });
  const refused = (run: string) => findRun(target, run).catch((error: unknown) => error);
  expect(await refused('T020000Z-0b0b0b')).toMatchObject({ name: 'leads-20261118T020000Z-0b0b0b' });
  expect(await refused('b0b')).toMatchObject({ exitCode: 2 });
});

test('an entity with a date finds its newest run for that date', async () => {
  const { target } = await awsWithTarget(
    executions([
      ranOn(22, { name: 'leads-backfill', input: { entity: 'leads', date: '2026-11-17' } }),
      ...runs.slice(1),
    ]),
  );
  const nameOf = async (date: string) => (await findRun(target, 'leads', date)).name;
  expect(await nameOf('2026-11-17')).toBe('leads-backfill');
  expect(await nameOf('2026-11-18')).toBe('leads-20261118T020000Z-0b0b0b');
});

const COMMANDS: [string, ...string[]][] = [
  ['show'],
  ['logs'],
  ['follow'],
  ['stop'],
  ['retry'],
  ['release', '--reason', 'Right.'],
  ['table'],
];
const two = ['leads-a-c03f3a', 'leads-b-c03f3a'].map((name) => ranOn(20, { name, input: { entity: 'leads' } }));

test('a command that takes a run refuses an ambiguous name, --date with a name, and a run whose input names no entity', async () => {
  const odd = ranOn(20, { name: 'odd', status: 'FAILED', input: [] });
  const { cli, asked } = await awsWithTarget(executions([...two, odd]));
  for (const [command, ...more] of COMMANDS) {
    const wrong = [['c03f3a'], ['leads-a-c03f3a', '--date', '2026-11-20']];
    if (!['show', 'logs', 'stop'].includes(command)) wrong.push(['odd']);
    for (const args of wrong) {
      const { code, stdout } = await cli(command, ...args, ...more);
      expect({ command, args, code, stdout }).toEqual({ command, args, code: 2, stdout: '' });
    }
  }
  expect(asked).not.toContain('StartExecution');

  const lines = [
    ...['show c03f3a', 'show leads-a-c03f3a --date 2026-11-20', 'follow odd', 'show b0b', 'show leeds'],
    ...['show leads --date 2026-11-16', 'show meetings'],
  ];
  const results = lines.map(async (line) => [line, await cli(...line.split(' '))] as const);
  await expectResults('which-run', await Promise.all(results));
});

/** The runs of a rule with two starts on a night whose event was delivered twice; newest first. */
const withoutExport: Execution[] = [
  ended('event-3', '00:00:07', { outcome: 'ALREADY_STARTED', startedBy: 'event-2' }),
  { ...ended('event-2', '00:00:01', {}), status: 'FAILED', error: 'ExportFailed' },
  ended('event-1', '23:00:01', { outcome: 'NOT_DUE' }),
];

function ended(name: string, time: string, change: object): Execution {
  const at = `2026-11-${time.startsWith('23') ? 19 : 20}T${time}.000Z`;
  const input = { entity: 'leads', scheduledFor: at };
  const state = runState({ input, run: null, ...change });
  return {
    name,
    status: 'SUCCEEDED',
    input,
    start: at,
    stop: at,
    output: JSON.stringify(state),
    entered: [
      ['BeginRun', at, input],
      ['CreateExport', at, runState({ input, run: null })],
      ['End', at, state],
    ],
  };
}

test('the newest run of an entity is the newest one with an export', async () => {
  const { target } = await awsWithTarget(executions(withoutExport));

  expect((await findRun(target, 'leads')).name).toBe('event-2');
});

test('list leaves out starts without an export', async () => {
  const { target } = await awsWithTarget(executions(withoutExport));

  const since = new Date('2026-11-19T00:00:00Z');
  const runs = await listRuns(target, { entities: [], since, failed: false, warn: () => undefined });

  expect(runs.map(({ run, error }) => `${run} ${error}`)).toEqual(['event-2 ExportFailed']);
});

test('show of a start without an export gives the reason, and retry refuses it', async () => {
  const { cli, asked } = await awsWithTarget(executions(withoutExport));
  const lines = ['show event-3', 'show event-1', 'retry event-3', 'retry event-1'];
  const results = lines.map(async (line) => [line, await cli(...line.split(' '))] as const);

  await expectResults('without-export', await Promise.all(results));
  expect(asked).not.toContain('StartExecution');
});
