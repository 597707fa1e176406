import { expect, test } from 'vitest';
import { executionsOf, findRun } from '../../../cli/runs/find-run.ts';
import type { FoundRun } from '../../../cli/runs/run/run.ts';
import { jsonServer, OUTPUTS, RUN_ARNS, sfnAt } from '../support/aws-server.ts';

/** A run as Step Functions lists it: by a rule (a name that says nothing), or by the command. */
interface Run {
  name: string;
  status?: string;
  /** Seconds since 1970. */
  startDate: number;
  input?: object;
}

/** A Step Functions with these runs, newest first, in pages of two. */
async function machine(runs: Run[]) {
  const server = await jsonServer(({ operation, input }) => {
    const items = runs.map(({ input: _, status = 'SUCCEEDED', ...run }) => {
      return { ...run, status, executionArn: `${RUN_ARNS}:${run.name}` };
    });
    if (operation === 'ListExecutions') {
      const first = Number(input.nextToken ?? 0);
      const nextToken = first + 2 < items.length ? String(first + 2) : undefined;
      return { output: { executions: items.slice(first, first + 2), nextToken } };
    }
    const index = items.findIndex(({ executionArn }) => executionArn === input.executionArn);
    if (index < 0) return { error: 'ExecutionDoesNotExist' };
    return { output: { ...items[index], input: JSON.stringify(runs[index]?.input) } };
  });
  const { StateMachineArn } = OUTPUTS;
  return { target: { sfn: sfnAt(server.endpoint), StateMachineArn }, calls: server.calls };
}

const DAY = 86_400;
const NOW = 1_795_000_000;
const runs: Run[] = [
  { name: 'contacts-20261121T020000Z-0a0a0a', startDate: NOW, status: 'RUNNING' },
  { name: 'f7d3_9b1c', startDate: NOW - DAY, input: { entity: 'leads', scheduledFor: 'x' } },
  { name: 'by-hand', startDate: NOW - 2 * DAY, status: 'FAILED', input: { entity: 'leeds' } },
  { name: 'leads-20261118T020000Z-0b0b0b', startDate: NOW - 3 * DAY, status: 'TIMED_OUT' },
  { name: 'leads-20261117T020000Z-0c0c0c', startDate: NOW - 4 * DAY, status: 'ABORTED' },
];

async function namesOf(found: AsyncGenerator<FoundRun>): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of found) names.push(name);
  return names;
}

test('an entity means its newest run, whoever started it', async () => {
  const { target, calls } = await machine(runs);
  expect(await findRun(target, 'leads')).toMatchObject({
    ...{ executionArn: `${RUN_ARNS}:f7d3_9b1c`, name: 'f7d3_9b1c', entity: 'leads', status: 'SUCCEEDED' },
    ...{ startDate: new Date((NOW - DAY) * 1000), stopDate: undefined, what: 'export' },
  });
  // Nothing older was looked at.
  expect(calls.filter(({ operation }) => operation === 'ListExecutions')).toHaveLength(1);
});

test('a run is found by its name and by its ARN; one whose input names no entity has none', async () => {
  const { target } = await machine(runs);
  for (const run of ['by-hand', `${RUN_ARNS}:by-hand`]) {
    expect(await findRun(target, run)).toMatchObject({ name: 'by-hand', entity: undefined, status: 'FAILED' });
  }
});

test('what is no run is refused with the nearest names, also where the name is one that AWS would not take', async () => {
  const { target } = await machine(runs);
  const refused = (run: string) => findRun(target, run).catch((error: unknown) => error);
  expect(await refused('by-hnad')).toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(/^There is no run "by-hnad" \(did you mean "by-hand"\?\); the newest runs are /),
  });
  expect(await refused('leeds')).toMatchObject({ message: expect.stringContaining('(did you mean "leads"?)') });
  expect(await refused('a b*')).toMatchObject({ exitCode: 2 });
  expect(await refused('employers')).toMatchObject({
    exitCode: 2,
    message: 'There is no run of employers yet: npm run cli -- start employers.',
  });
  expect(await refused('arn:aws:states:x')).toMatchObject({ exitCode: 2, message: expect.stringContaining(RUN_ARNS) });
});

test('an entity that is known is not looked up', async () => {
  const { target, calls } = await machine(runs);
  const known = new Map([['f7d3_9b1c', 'leads' as const]]);
  expect(await namesOf(executionsOf(target, { entity: 'leads', known }))).toHaveLength(3);
  const asked = calls.flatMap(({ operation, input }) => (operation === 'DescribeExecution' ? [input] : []));
  expect(asked).toEqual([{ executionArn: `${RUN_ARNS}:by-hand` }]);
});

test('runs come newest first over all pages: since a time, those that failed, those of an entity', async () => {
  const { target, calls } = await machine(runs);
  expect(await namesOf(executionsOf(target, {}))).toEqual(runs.map(({ name }) => name));
  expect(await namesOf(executionsOf(target, { failed: true }))).toEqual(runs.slice(2).map(({ name }) => name));
  const ofLeads = ['f7d3_9b1c', 'leads-20261118T020000Z-0b0b0b', 'leads-20261117T020000Z-0c0c0c'];
  expect(await namesOf(executionsOf(target, { entity: 'leads' }))).toEqual(ofLeads);
  calls.length = 0;
  const since = new Date((NOW - 2 * DAY) * 1000);
  expect(await namesOf(executionsOf(target, { since }))).toHaveLength(3);
  expect(calls.filter(({ operation }) => operation === 'ListExecutions')).toHaveLength(2);
});
