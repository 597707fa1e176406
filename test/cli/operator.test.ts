import type { ExecutionStatus } from '@aws-sdk/client-sfn';
import { describe, expect, test } from 'vitest';
import { adoptableRun, inputAgain } from '../../cli/runs/retry-run.ts';
import { executionOf } from '../../cli/runs/run.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { newState, run as runPlan, runState } from '../support/builders.ts';
import { clockAt } from '../support/clock.ts';
import { expectResults } from '../support/screen.ts';
import { type Answers, fault, refused } from './support/cloud/answers.ts';
import { awsWithTarget } from './support/cloud/cloud.ts';
import { type Execution, executions } from './support/cloud/executions.ts';
import { arnOf, configured, stack } from './support/cloud/stack.ts';
import type { CliResult } from './support/run-cli.ts';

type Cloud = Awaited<ReturnType<typeof awsWithTarget>>;

const NAME = 'leads-20261120T220000Z-1a2b3c';
const executionArn = arnOf(NAME);
const startDate = new Date('2026-11-20T22:00:00.250Z');
const stateOf = (date: string) =>
  JSON.stringify(runState({ execution: NAME, startedAt: startDate.toISOString(), run: runPlan({ date }) }));

const waited = JSON.stringify(newState({}, { date: '2026-11-20', waits: 1 }));
const due = (scheduledFor: string) => ({ scheduledFor: `2026-11-20T${scheduledFor}Z` });
const [PAST, TODAY, NEXT] = [{ date: '2026-11-02' }, { date: '2026-11-20' }, { date: '2026-11-21' }];
const state = stateOf('2026-11-20');
const adopting = { ...TODAY, adopt: NAME };
const given = { ...PAST, columns: ['id'], Comment: 'x' };
const release = { release: 'leads-before', reason: 'Holidays' };

/** The input and the state of a run, and the input of its retry. */
const RETRIES: [what: string, run: { input: object; state?: string; zone?: string; fresh?: boolean }, again: object][] =
  [
    ['the given date', { input: given, state: stateOf('2026-11-21') }, { ...given, adopt: NAME }],
    [
      'the date of a run that began near midnight',
      { input: {}, state: stateOf('2026-11-21') },
      { ...adopting, ...NEXT },
    ],
    ['the date of the scheduled start, without a state', { input: due('21:00:00') }, TODAY],
    // With a date instead of `scheduledFor`, its timeline does not look like that of a nightly run.
    ['the date of the run, instead of a scheduled start', { input: due('21:00:00'), state }, adopting],
    ['the given date, instead of a scheduled start', { input: { ...due('21:00:00'), ...PAST } }, PAST],
    ['the date of the start, without a state', { input: {} }, TODAY],
    ['the date of a scheduled start in the zone', { input: due('22:30:00'), zone: 'Asia/Jerusalem' }, NEXT],
    ['the date of the start in the zone', { input: {}, zone: 'America/New_York' }, TODAY],
    [
      'the date of a night that waited past midnight',
      { input: due('22:05:00'), state: waited, zone: 'Asia/Jerusalem' },
      TODAY,
    ],
    ['an adopted export', { input: { ...adopting, adopt: 'leads-before' }, state }, adopting],
    ['no export with --fresh', { input: adopting, state, fresh: true }, TODAY],
    ['the input of a release, without a date or an export', { input: release, state }, release],
  ];

test.each(RETRIES)('a retry keeps %s', async (_, { input, state, zone = 'UTC', fresh }, again) => {
  const stateEnteredEventDetails = { name: 'CheckStatus', input: state };
  const events = state ? [{ id: 0, timestamp: 1, type: 'TaskStateEntered', stateEnteredEventDetails }] : [];
  const { target } = await awsWithTarget(stack({ TimeZone: zone }), { GetExecutionHistory: { events } });
  const run = executionOf({
    executionArn,
    status: 'FAILED',
    startDate,
    input: JSON.stringify({ entity: 'leads', ...input }),
  });

  expect(await inputAgain(target, run, fresh)).toEqual({ entity: 'leads', ...again });
});

describe('the run whose export a retry adopts', () => {
  const failed = { name: 'night-1', status: 'FAILED' as const, error: 'StorageUnavailable' };
  const begun = { name: 'RunFailed', state: runState() };
  const before = (name: string) => ({ name, state: newState() });

  test.each<[ExecutionStatus, string | null, string | undefined]>([
    ['FAILED', 'DownloadIncomplete', 'night-1'],
    ['ABORTED', null, 'night-1'],
    ['TIMED_OUT', 'States.Timeout', 'night-1'],
    ['FAILED', 'ExportFailed', undefined],
    ['FAILED', 'ExportNotFound', undefined],
    ['FAILED', 'FileRejected', undefined],
    ['FAILED', 'FileQuarantined', undefined],
    ['FAILED', 'DownloadTooLarge', undefined],
    ['RUNNING', null, undefined],
    ['SUCCEEDED', null, undefined],
  ])('after %s with %s is %s', (status, error, adopted) => {
    expect(adoptableRun({ ...failed, status, error }, begun, 'night-0')).toBe(adopted);
  });

  test.each<[string, object, string | undefined, string | undefined]>([
    ['RunFailed', {}, undefined, undefined],
    ['RunFailed', {}, 'night-0', 'night-0'],
    ['CreateExport', { status: 'ABORTED', error: null }, undefined, 'night-1'],
    ['StepCrashed', { error: 'StepCrashed' }, undefined, 'night-1'],
    ['StepCrashed', { error: 'StepCrashed' }, 'night-0', 'night-0'],
  ])(
    'after a run without an export, ended in %s %j, that should have adopted %s, is %s',
    (state, end, earlier, adopted) => {
      expect(adoptableRun({ ...failed, ...end }, before(state), earlier)).toBe(adopted);
    },
  );
});

const run = (status: string, more: Partial<Execution> = {}): Execution => {
  return { name: NAME, status, input: { entity: 'leads' }, start: startDate.toISOString(), ...more };
};

function endingNow() {
  const running = run('RUNNING');
  const endsNow = () => {
    running.status = 'SUCCEEDED';
    return refused('ValidationException', 'Execution is not running');
  };
  return awsWithTarget(executions([running]), { StopExecution: endsNow });
}

/** Refuses the third call and all later ones with an error that has no advice. */
const refusedFromTheThird = (operation: string) =>
  fault(operation, refused('ExecutionLimitExceeded', 'The limit is reached'), { from: 3 });

const RULES_ON: Answers = { DescribeRule: { Name: 'x', State: 'ENABLED' }, DisableRule: {} };

test('if a start of several entities fails, start reports which runs it has started', async () => {
  const { cli } = await awsWithTarget(refusedFromTheThird('StartExecution'));

  const { code, stdout } = await cli('start', 'leads', 'contacts', 'meetings', '--json');

  expect(code).toBe(3);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, runs: [{ entity: 'leads' }, { entity: 'contacts' }] });
});

test('start --accept-schema sets acceptSchema in the input of the run', async () => {
  const { cli, started } = await awsWithTarget();
  await cli('start', 'leads', '--accept-schema');
  await cli('start', 'leads');
  expect(started).toEqual([{ entity: 'leads', acceptSchema: true }, { entity: 'leads' }]);
});

test('pause switches rules off, and resume switches on what is off', async () => {
  const { cli, asked } = await awsWithTarget(RULES_ON);

  await cli('pause', 'leads');
  await cli('resume', 'leads', 'contacts');
  const paused = await awsWithTarget({ DescribeRule: { State: 'DISABLED' }, EnableRule: {} });
  await paused.cli('resume', 'leads');

  expect(asked.slice(0, 4)).toEqual(['DescribeRule', 'DisableRule', 'DescribeRule', 'DescribeRule']);
  expect(paused.asked).toEqual(['DescribeRule', 'EnableRule']);
});

/** A deployment with a time zone and one refused run with this input. */
const inZone = (TimeZone: string, input: object = {}) =>
  awsWithTarget(stack({ TimeZone }), executions([run('FAILED', { input: { entity: 'leads', ...input } })]));

const dates = [
  ['2026-11-20', 'UTC', true],
  ['2026-11-21', 'UTC', false],
  ['2026-11-21', 'Pacific/Auckland', true],
] as const;

describe('at noon UTC of 2026-11-20', () => {
  clockAt('2026-11-20T12:00:00Z');

  test.for(dates)('start --date %s in the zone %s: started %s', async ([date, zone, taken]) => {
    const { cli, started } = await inZone(zone);
    const { code } = await cli('start', 'leads', 'contacts', '--date', date, '--same-data');
    expect({ code, started: started.length }).toEqual(taken ? { code: 0, started: 2 } : { code: 2, started: 0 });
  });

  const dated = (...entities: Entity[]) =>
    configured({ entities: Object.fromEntries(entities.map((entity) => [entity, { filters: FILTERS }])) });
  const FILTERS = [{ field: 'updatedAt', operator: 'gte', value: { $date: 'day-1d' } }];

  const EARLIER = ['leads', 'contacts', '--date', '2026-11-19'];

  test.for<[string, string[], Entity[], boolean]>([
    ['a past date if no plan depends on the date', EARLIER, [], false],
    ['a past date if one plan does not depend on the date', EARLIER, ['leads'], false],
    ['a past date with --all', ['--all', '--date', '2026-11-19'], ['leads'], false],
    ['a past date if all plans depend on the date', EARLIER, ['leads', 'contacts'], true],
    ['today', ['leads', 'contacts', '--date', '2026-11-20'], [], true],
    ['a past date with --same-data', [...EARLIER, '--same-data'], [], true],
    ['no date', ['leads', 'contacts'], [], true],
  ])('start checks the plans for %s', async ([, args, entities, taken]) => {
    const { cli, started } = await awsWithTarget(dated(...entities));

    const { code } = await cli('start', ...args);

    expect({ code, started: started.length }).toEqual(taken ? { code: 0, started: 2 } : { code: 2, started: 0 });
  });

  test('each refusal and each partial success has a sentence', async () => {
    const publishing: Execution['entered'] = [['PublishFile', startDate.toISOString(), runState({ run: runPlan() })]];
    const underWay = run('RUNNING', { entered: publishing });
    const aborted = run('ABORTED', { entered: publishing, error: 'StoppedByOperator' });
    const expired = fault('states', refused('ExpiredTokenException'), { from: 4 });
    const none = Object.fromEntries(ENTITIES.map((entity) => [entity, { enabled: false }]));
    const off = configured({ entities: { contacts: { enabled: false } } });
    const PAUSED = { DescribeRule: { State: 'DISABLED' }, EnableRule: {} };
    const failingAt = (operation: string, ...parts: Answers[]) =>
      awsWithTarget(refusedFromTheThird(operation), ...parts);
    const dueAt = (scheduledFor: string) => inZone('UTC', { scheduledFor });
    const late = await inZone('UTC', { date: '2026-11-21' });
    const results: [string, CliResult][] = [];
    for (const [what, cloud, ...args] of [
      ['stop during PublishFile', awsWithTarget(executions([underWay]), { StopExecution: {} }), 'stop', NAME, '--yes'],
      ['stop of a run that ended just before', endingNow(), 'stop', NAME, '--yes'],
      ['stop without --yes', awsWithTarget(executions([run('RUNNING')])), 'stop', NAME],
      ['stop of a run that has ended', awsWithTarget(executions([aborted])), 'stop', NAME, '--yes'],
      ['retry of a run with an export', awsWithTarget(executions([aborted])), 'retry', NAME],
      ['credentials expire', awsWithTarget(expired, executions([run('RUNNING')])), 'follow', NAME],
      ['a start of several fails', failingAt('StartExecution'), 'start', 'leads', 'contacts', 'meetings'],
      ['a pause of several fails', failingAt('DescribeRule', RULES_ON), 'pause', '--all'],
      ['a disabled entity', awsWithTarget(off), 'start', '--all'],
      ['a disabled entity by its name', awsWithTarget(off), 'start', 'contacts'],
      ['only disabled entities', awsWithTarget(configured({ entities: none })), 'start', '--all'],
      ['resume with a disabled entity', awsWithTarget(RULES_ON, off), 'resume', 'leads', 'contacts'],
      ['resume of all, with a disabled entity', awsWithTarget(RULES_ON, off), 'resume', '--all'],
      ['resume of a paused rule', awsWithTarget(PAUSED), 'resume', 'leads'],
      ['start for tomorrow', late, 'start', 'leads', '--date', '2026-11-21', '--same-data'],
      ['retry for tomorrow', late, 'retry', NAME],
      ['retry of a run that was due tomorrow', dueAt('2026-11-21T00:00:00Z'), 'retry', NAME],
      ['retry of a run that was due at no time', dueAt('soon'), 'retry', NAME],
      ['retry of a run under way', awsWithTarget(executions([run('RUNNING')])), 'retry', NAME],
      ['retry of a run under way, with --force', awsWithTarget(executions([run('RUNNING')])), 'retry', NAME, '--force'],
      ['start for a past date', awsWithTarget(dated()), 'start', ...EARLIER],
      ['start for a past date, one plan', awsWithTarget(dated('leads')), 'start', ...EARLIER],
    ] as [string, Promise<Pick<Cloud, 'cli'>>, ...string[]][])
      results.push([what, await (await cloud).cli(...args)]);

    await expectResults('operator', results);
  });
});
