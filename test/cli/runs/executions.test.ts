import { expect, test } from 'vitest';
import { type EnteredState, startRun } from '../../../cli/runs/executions.ts';
import { followRun, progressLines } from '../../../cli/runs/follow.ts';
import { runSchema } from '../../../cli/runs/run.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { run as aRun, runState, storedFile } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { expectTexts } from '../../support/screen.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';

clockAt('2026-11-20T05:00:00Z');

const ARN = 'arn:aws:states:us-east-1:000000000000:execution:machine:leads-1';
const STARTED = 1_795_000_000;
const EXPORT_ID = '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8f';
const run = aRun({ exportId: EXPORT_ID, createdAt: '2026-11-20T02:00:00Z', request: { columns: ['id'] } });
const file = storedFile({ key: 'runs/leads.csv', bytes: 12 });
const state = (more: object) =>
  JSON.stringify({ ...runState({ execution: 'leads-1', startedAt: '2026-11-20T02:00:00Z', run, checks: 0 }), ...more });

/** An execution at one moment: the answer of DescribeExecution, and the entered states, newest first. */
interface Moment {
  status: string;
  output?: string;
  error?: string;
  cause?: string;
  entered: [name: string, input: string][];
}

/** A Step Functions that shows the moments in turn, and the last one repeatedly. */
async function machine(moments: Moment[]) {
  let turn = -1;
  const moment = () => moments[Math.min(turn, moments.length - 1)] ?? expect.unreachable('it has no moment');
  const cloud = await awsWithTarget({
    StartExecution: { executionArn: ARN, startDate: STARTED },
    DescribeExecution: () => {
      turn += 1;
      const { entered: _, ...described } = moment();
      const stopDate = described.status === 'RUNNING' ? undefined : STARTED + 12.34;
      return { executionArn: ARN, startDate: STARTED, stopDate, input: '{"entity":"leads"}', ...described };
    },
    GetExecutionHistory: () => {
      const { entered } = moment();
      const common = { timestamp: STARTED, type: 'TaskStateEntered' };
      const events = entered.map(([name, input], id) => ({ id, ...common, stateEnteredEventDetails: { name, input } }));
      return { events: [{ id: 99, timestamp: STARTED, type: 'ExecutionFailed' }, ...events] };
    },
  });
  return { ...cloud, sfn: cloud.target.sfn };
}

test('startRun gives each run a unique name that AWS accepts, and the input of a rule', async () => {
  const { calls, ...cloud } = await machine([]);
  const target = { ...cloud.target, StateMachineArn: 'arn:machine' };
  for (const entity of [...ENTITIES, ...ENTITIES])
    expect((await startRun(target, entity, { date: '2026-11-20' })).executionArn).toBe(ARN);
  const names = calls.map(({ input }) => String(input.name));
  expect(new Set(names).size).toBe(2 * ENTITIES.length);
  for (const name of names) expect(name).toMatch(/^[a-z-]+-\d{8}T\d{6}Z-[0-9a-f]{6}$/);
  expect(Math.max(...names.map(({ length }) => length))).toBeLessThanOrEqual(80);
  expect(calls[1]?.input).toMatchObject({ stateMachineArn: 'arn:machine' });
  expect(JSON.parse(String(calls[1]?.input.input))).toEqual({ entity: 'agent-numbers', date: '2026-11-20' });
});

test('followRun reports the states of a run from its start to its end', async () => {
  const manifestKey = 'runs/_manifest.json';
  const { sfn } = await machine([
    { status: 'RUNNING', entered: [] },
    { status: 'RUNNING', entered: [['CreateExport', state({ run: null })]] },
    {
      status: 'RUNNING',
      entered: [
        ['WaitBeforeCheck', state({ checks: 2 })],
        ['CheckStatus', state({ checks: 1 })],
      ],
    },
    { status: 'RUNNING', entered: [['PublishFile', state({ checks: 3, file })]] },
    {
      status: 'SUCCEEDED',
      output: state({ checks: 3, file, manifestKey, rows: 7, warningCount: 2 }),
      entered: [['ExportPublished', state({ checks: 3, file })]],
    },
  ]);
  const seen: [name: string, status: string, checks: number | undefined][] = [];
  const onProgress = (status: string, { name, state }: EnteredState) => void seen.push([name, status, state?.checks]);
  const report = await followRun(sfn, ARN, { everyMs: 1, onProgress });
  expect(seen).toEqual([
    ['', 'RUNNING', undefined],
    ['CreateExport', 'RUNNING', 0],
    ['WaitBeforeCheck', 'RUNNING', 2],
    ['PublishFile', 'RUNNING', 3],
    ['ExportPublished', 'SUCCEEDED', 3],
  ]);
  expect(report).toMatchObject({
    run: 'leads-1',
    outcome: 'published',
    exportId: EXPORT_ID,
    key: file.key,
    manifestKey,
    rows: 7,
    warningCount: 2,
    checks: 3,
    seconds: 12.3,
  });
  expect(runSchema.parse(report)).toEqual(report);
});

const trouble = { error: 'CrmUnavailable', status: 503, count: 3, deadline: '2026-11-20T07:00:00.000Z' };

test('progress prints one line for each change of state, with the reason of a wait and the final status', async () => {
  const lines: string[] = [];
  const show = progressLines('leads', (line) => lines.push(line));
  const at = new Date('2026-11-20T03:10:00Z');
  const see = (name: string, seconds: number, more: object = {}, status = 'RUNNING') =>
    show(status, { name, at, state: runState({ run, checks: 1, waitSeconds: 125, ...more }) }, seconds);
  const waits = { checks: 2, run: aRun({ deadline: trouble.deadline }) };

  see('', 0);
  see('CreateExport', 0.5, { checks: 0 });
  see('CheckStatus', 1.23);
  see('CheckStatus', 9);
  see('CheckStatus', 10, { checks: 2 });
  see('WaitBeforeCheck', 11, { ...waits, trouble });
  see('WaitBeforeCheck', 12, { ...waits, run: aRun({ deadline: '2026-11-21T01:00:00.000Z' }) });
  see('WaitBeforeCreate', 13, { checks: 0, run: null, trouble: { ...trouble, status: null, count: 1 } });
  see('ExportPublished', 14, { checks: 2 }, 'SUCCEEDED');

  await expectTexts('progress', [['a run', lines.join('\n')]]);
});

test('followRun reads the history only at the end if nobody is shown the progress', async () => {
  const { sfn, asked } = await machine([
    { status: 'RUNNING', entered: [] },
    { status: 'SUCCEEDED', output: state({ checks: 3 }), entered: [['ExportPublished', state({ checks: 3 })]] },
  ]);
  expect(await followRun(sfn, ARN, { everyMs: 1 })).toMatchObject({ status: 'SUCCEEDED', checks: 3 });
  expect(asked.filter((line) => line.includes('GetExecutionHistory'))).toHaveLength(1);
});

test('followRun reports no error for a stopped run, and skips states that it cannot read', async () => {
  const entered: Moment['entered'] = [
    ['Odd', 'not JSON'],
    ['Bare', '{"entity":"leads"}'],
    ['CheckStatus', state({ checks: 1 })],
  ];
  const { sfn } = await machine([{ status: 'ABORTED', entered }]);
  const report = await followRun(sfn, ARN);
  expect(report).toMatchObject({ status: 'ABORTED', error: null, cause: null, exportId: EXPORT_ID, checks: 1 });
});

test('an interruption ends followRun with its reason, and does not stop the run', async () => {
  const { sfn, asked } = await machine([{ status: 'RUNNING', entered: [] }]);
  const interrupt = new AbortController();
  const onProgress = () => interrupt.abort(new Error('interrupted by SIGINT'));
  const following = followRun(sfn, ARN, { everyMs: 60_000, signal: interrupt.signal, onProgress });
  await expect(following).rejects.toThrow('interrupted by SIGINT');
  expect(asked).not.toContain('StopExecution');
});
