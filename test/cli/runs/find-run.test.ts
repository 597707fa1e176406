import { expect, test } from 'vitest';
import { executionsOf, findRun } from '../../../cli/runs/find-run.ts';
import type { FoundRun } from '../../../cli/runs/run.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { arnOf } from '../support/cloud/stack.ts';

/** Runs started by a rule (with a meaningless name) or by the command; newest first, in pages of two. */
const runs: Execution[] = [
  ranOn(21, { name: 'contacts-20261121T020000Z-0a0a0a', status: 'RUNNING' }),
  ranOn(20, { name: 'f7d3_9b1c', input: { entity: 'leads', scheduledFor: 'x' } }),
  ranOn(19, { name: 'by-hand', status: 'FAILED', input: { entity: 'leeds' } }),
  ranOn(18, { name: 'leads-20261118T020000Z-0b0b0b', status: 'TIMED_OUT' }),
  ranOn(17, { name: 'leads-20261117T020000Z-0c0c0c', status: 'ABORTED' }),
];
const machine = () => aws(executions(runs, { page: 2 }));

function ranOn(day: number, run: Partial<Execution>): Execution {
  return { name: '', status: 'SUCCEEDED', input: {}, start: `2026-11-${day}T02:00:00.000Z`, ...run };
}

async function namesOf(found: AsyncGenerator<FoundRun>): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of found) names.push(name);
  return names;
}

test('an entity means its newest run, whoever started it', async () => {
  const { target, asked } = await machine();
  expect(await findRun(target, 'leads')).toMatchObject({
    executionArn: arnOf('f7d3_9b1c'),
    name: 'f7d3_9b1c',
    entity: 'leads',
    status: 'SUCCEEDED',
    startDate: new Date('2026-11-20T02:00:00Z'),
    stopDate: undefined,
    what: 'export',
  });
  // The command lists no older page.
  expect(asked.filter((line) => line === 'ListExecutions')).toHaveLength(1);
});

test('a run is found by its name and by its ARN; one whose input names no entity has none', async () => {
  const { target } = await machine();
  for (const run of ['by-hand', arnOf('by-hand')]) {
    expect(await findRun(target, run)).toMatchObject({ name: 'by-hand', entity: undefined, status: 'FAILED' });
  }
});

test('what is no run is refused with the nearest names, also where the name is one that AWS would not take', async () => {
  const { target } = await machine();
  const refused = (run: string) => findRun(target, run).catch((error: unknown) => error);
  expect(await refused('by-hnad')).toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/^There is no run "by-hnad" \(did you mean "by-hand"\?\); the newest runs are /),
  });
  expect(await refused('leeds')).toMatchObject({ message: expect.stringContaining('(did you mean "leads"?)') });
  expect(await refused('a b*')).toMatchObject({ exitCode: 2 });
  expect(await refused('employers')).toMatchObject({
    exitCode: 2,
    message: 'There is no run of employers yet: npx --no -- crm-export start employers.',
  });
  expect(await refused('arn:aws:states:x')).toMatchObject({ exitCode: 2, message: expect.stringContaining(arnOf('')) });
});

test('an entity that is known is not looked up', async () => {
  const { target, calls } = await machine();
  const known = new Map([['f7d3_9b1c', 'leads' as const]]);
  expect(await namesOf(executionsOf(target, { entity: 'leads', known }))).toHaveLength(3);
  const asked = calls.flatMap(({ operation, input }) => (operation === 'DescribeExecution' ? [input] : []));
  expect(asked).toEqual([{ executionArn: arnOf('by-hand') }]);
});

test('runs come newest first over all pages: since a time, those that failed, those of an entity', async () => {
  const { target, asked } = await machine();
  expect(await namesOf(executionsOf(target, {}))).toEqual(runs.map(({ name }) => name));
  expect(await namesOf(executionsOf(target, { failed: true }))).toEqual(runs.slice(2).map(({ name }) => name));
  const ofLeads = ['f7d3_9b1c', 'leads-20261118T020000Z-0b0b0b', 'leads-20261117T020000Z-0c0c0c'];
  expect(await namesOf(executionsOf(target, { entity: 'leads' }))).toEqual(ofLeads);
  asked.length = 0;
  const since = new Date('2026-11-19T02:00:00Z');
  expect(await namesOf(executionsOf(target, { since }))).toHaveLength(3);
  expect(asked.filter((line) => line === 'ListExecutions')).toHaveLength(2);
});

test('a unique end of a name means that run; of several runs it names them, and a short end is none', async () => {
  const { target } = await machine();
  expect(await findRun(target, '0c0c0c')).toMatchObject({ name: 'leads-20261117T020000Z-0c0c0c' });
  expect(await findRun(target, '9b1c')).toMatchObject({ name: 'f7d3_9b1c' });
  const refused = (run: string) => findRun(target, run).catch((error: unknown) => error);
  expect(await refused('T020000Z-0b0b0b')).toMatchObject({ name: 'leads-20261118T020000Z-0b0b0b' });
  expect(await refused('b0b')).toMatchObject({ exitCode: 2, message: expect.stringContaining('no run "b0b"') });
});

test('an end of several names is refused with the names', async () => {
  const twice = ['a', 'b'].map((first) => ranOn(20, { name: `${first}-c03f3a`, input: { entity: 'leads' } }));
  const { target } = await aws(executions(twice));
  expect(await findRun(target, 'c03f3a').catch((error: unknown) => error)).toMatchObject({
    exitCode: 2,
    message: '2 runs end in "c03f3a": a-c03f3a, b-c03f3a; type more of the name.',
  });
});

test('an entity with a date means its newest run for that date', async () => {
  const { target } = await aws(
    executions([
      ranOn(22, { name: 'leads-backfill', input: { entity: 'leads', date: '2026-11-17' } }),
      ...runs.slice(1),
    ]),
  );
  const nameOf = async (date: string) => (await findRun(target, 'leads', date)).name;
  expect(await nameOf('2026-11-17')).toBe('leads-backfill');
  expect(await nameOf('2026-11-18')).toBe('leads-20261118T020000Z-0b0b0b');
  await expect(nameOf('2026-11-16')).rejects.toThrow(
    'There is no run of leads for 2026-11-16: npx --no -- crm-export list leads.',
  );
  await expect(findRun(target, 'by-hand', '2026-11-19')).rejects.toThrow('--date goes with an entity');
});
