import type { ExecutionStatus } from '@aws-sdk/client-sfn';
import { describe, expect, test } from 'vitest';
import { adoptableRun, inputAgain } from '../../cli/runs/retry-run.ts';
import { executionOf } from '../../cli/runs/run.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { newState, run as runPlan, runState } from '../support/builders.ts';
import { clockAt } from '../support/clock.ts';
import { type Answers, fault, refused } from './support/cloud/answers.ts';
import { awsWithTarget } from './support/cloud/cloud.ts';
import { type Execution, executions } from './support/cloud/executions.ts';
import { arnOf, configured, stack } from './support/cloud/stack.ts';

const NAME = 'leads-20261120T220000Z-1a2b3c';
const executionArn = arnOf(NAME);
const startDate = new Date('2026-11-20T22:00:00.250Z');
const found = (input: string) => executionOf({ executionArn, status: 'FAILED', startDate, input });
const stateOf = (date: string) =>
  JSON.stringify(runState({ execution: NAME, startedAt: startDate.toISOString(), run: runPlan({ date }) }));

/** The input of a retry after a run with this input and state. */
async function anew(input: string, state?: string, TimeZone = 'UTC', fresh?: boolean) {
  const stateEnteredEventDetails = { name: 'CheckStatus', input: state };
  const events = state ? [{ id: 0, timestamp: 1, type: 'TaskStateEntered', stateEnteredEventDetails }] : [];
  const { target } = await awsWithTarget(stack({ TimeZone }), {
    GetExecutionHistory: { events },
  });
  return inputAgain(target, found(input), fresh);
}

test('a retry keeps the input of the old run, with its given date, its own date, or that of its start', async () => {
  const given = { entity: 'leads', date: '2026-11-02', columns: ['id'], Comment: 'x' };
  expect(await anew(JSON.stringify(given), stateOf('2026-11-21'))).toEqual({ ...given, adopt: NAME });
  // Near midnight: in the deployment's time zone, it was already the next day.
  expect(await anew('{"entity":"leads"}', stateOf('2026-11-21'))).toEqual({
    ...{ entity: 'leads', date: '2026-11-21', adopt: NAME },
  });
  const due = { entity: 'leads', scheduledFor: '2026-11-20T21:00:00Z' };
  expect(await anew(JSON.stringify(due))).toEqual({ entity: 'leads', date: '2026-11-20' });
  // With a date instead of `scheduledFor`, its timeline does not look like that of a nightly run.
  expect(await anew(JSON.stringify(due), stateOf('2026-11-20'))).toEqual({
    ...{ entity: 'leads', date: '2026-11-20', adopt: NAME },
  });
  expect(await anew(JSON.stringify({ ...due, date: '2026-11-02' }))).toEqual({ entity: 'leads', date: '2026-11-02' });
  expect(await anew('{"entity":"leads"}')).toEqual({ entity: 'leads', date: '2026-11-20' });
});

test('a retry of a run without a date takes it from the start, in the time zone of the deployment', async () => {
  expect(await anew('{"entity":"leads","scheduledFor":"2026-11-20T22:30:00Z"}', undefined, 'Asia/Jerusalem')).toEqual({
    entity: 'leads',
    date: '2026-11-21',
  });
  expect(await anew('{"entity":"leads"}', undefined, 'America/New_York')).toEqual({
    entity: 'leads',
    date: '2026-11-20',
  });
});

test('a retry of a nightly run that waited keeps its date, even if the rule fired after midnight', async () => {
  const waited = JSON.stringify(newState({}, { date: '2026-11-20', waits: 1 }));
  const late = '{"entity":"leads","scheduledFor":"2026-11-20T22:05:00Z"}';

  expect(await anew(late, waited, 'Asia/Jerusalem')).toEqual({ entity: 'leads', date: '2026-11-20' });
});

test('a retry adopts the export of the old run, also an adopted one; with --fresh it adopts none', async () => {
  const state = stateOf('2026-11-20');
  const adopting = { entity: 'leads', date: '2026-11-20', adopt: NAME };
  expect(await anew('{"entity":"leads"}', state)).toEqual(adopting);
  const retried = JSON.stringify({ ...adopting, adopt: 'leads-before' });
  expect(await anew(retried, state)).toEqual(adopting);
  expect(await anew(retried, state, undefined, true)).toEqual({ entity: 'leads', date: '2026-11-20' });
});

test('a retry of a release has the same input, without a date or an export', async () => {
  const release = { entity: 'leads', release: 'leads-before', reason: 'Holidays' };
  expect(await anew(JSON.stringify(release), stateOf('2026-11-20'), 'UTC')).toEqual(release);
});

describe('the run whose export a retry adopts', () => {
  const failed = { name: 'night-1', status: 'FAILED' as const, error: 'StorageUnavailable' };
  const begun = { name: 'RunFailed', state: runState() };
  const before = (name: string) => ({ name, state: newState() });

  test.each<[ExecutionStatus, string | null, string | undefined]>([
    ['FAILED', 'DownloadIncomplete', 'night-1'],
    ['FAILED', 'ExportDeadlineExceeded', 'night-1'],
    ['ABORTED', 'StoppedByOperator', 'night-1'],
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

test('stop warns during PublishFile that the file may still be published', async () => {
  const state = runState({ run: runPlan() });
  const { cli } = await awsWithTarget(
    executions([run('RUNNING', { entered: [['PublishFile', startDate.toISOString(), state]] })]),
    { StopExecution: {} },
  );
  expect((await cli('stop', NAME, '--yes')).stderr).toContain('it may still publish the file');
});

const run = (status: string, more: Partial<Execution> = {}): Execution => {
  return { name: NAME, status, input: { entity: 'leads' }, start: startDate.toISOString(), ...more };
};

test('stop reports a run that ended just before as ended, not as stopped', async () => {
  const running = run('RUNNING');
  const endsNow = () => {
    running.status = 'SUCCEEDED';
    return refused('ValidationException', 'Execution is not running');
  };
  const { cli } = await awsWithTarget(executions([running]), { StopExecution: endsNow });
  const { code, stdout, stderr } = await cli('stop', NAME, '--yes');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/ has ended \(SUCCEEDED\), before it could be stopped\.\n$/);
});

test('if credentials expire, follow says that the run is not affected and how to follow it again', async () => {
  const { cli } = await awsWithTarget(
    fault('states', refused('ExpiredTokenException'), { from: 4 }),
    executions([run('RUNNING')]),
  );
  const { code, stderr } = await cli('follow', NAME);
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /^The AWS credentials have expired .* The run is not affected\. To follow again: npx --no -- crm-export follow/,
  );
});

/** Refuses the third call and all later ones with an error that has no advice. */
const refusedFromTheThird = (operation: string) =>
  fault(operation, refused('ExecutionLimitExceeded', 'The limit is reached'), { from: 3 });

/** Every rule is on, and can be switched off. */
const RULES_ON: Answers = { DescribeRule: { Name: 'x', State: 'ENABLED' }, DisableRule: {} };

test('if a start of several entities fails, start reports which runs it has started', async () => {
  const start = async (...json: string[]) => {
    const { cli } = await awsWithTarget(refusedFromTheThird('StartExecution'));
    return cli('start', 'leads', 'contacts', 'meetings', ...json);
  };
  const { code, stdout, stderr } = await start();
  expect(code).toBe(3);
  expect(stdout).toMatch(/^arn:\S+:leads-\S+\narn:\S+:contacts-\S+\n$/);
  expect(stderr).toMatch(
    /^ExecutionLimitExceeded: The limit is reached\. Started before that: leads-\S+, contacts-\S+; not started: meetings\.\n$/,
  );
  expect(JSON.parse((await start('--json')).stdout)).toMatchObject({
    ok: false,
    error: expect.stringMatching(/not started: meetings\.$/),
    runs: [{ entity: 'leads' }, { entity: 'contacts' }],
  });
});

test('start --accept-schema sets acceptSchema in the input of the run', async () => {
  const { cli, started } = await awsWithTarget();
  await cli('start', 'leads', '--accept-schema');
  await cli('start', 'leads');
  expect(started).toEqual([{ entity: 'leads', acceptSchema: true }, { entity: 'leads' }]);
});

test('start --all skips entities that are disabled, and start ENTITY starts them', async () => {
  const off = { meetings: { enabled: false }, contacts: { enabled: false } };
  const { cli, started } = await awsWithTarget(configured({ entities: off }));

  const all = await cli('start', '--all');
  await cli('start', 'meetings');

  expect(started.map((input) => (input as { entity: string }).entity)).toEqual([
    ...['leads', 'agent-numbers', 'workflows', 'customers', 'employers'],
    'meetings',
  ]);
  expect(all.stderr).toContain('Not started, because they are disabled in the configuration: contacts, meetings.');
});

test('start --all starts no run if all entities are disabled', async () => {
  const entities = Object.fromEntries(ENTITIES.map((entity) => [entity, { enabled: false }]));
  const { cli, started } = await awsWithTarget(configured({ entities }));

  expect(await cli('start', '--all')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^All entities are disabled in the configuration\./),
  });
  expect(started).toEqual([]);
});

test('start of several entities prints a follow command for each run', async () => {
  const { cli } = await awsWithTarget(executions([]));
  const { stdout, stderr } = await cli('start', 'leads', 'contacts');
  const names = stdout
    .trimEnd()
    .split('\n')
    .map((arn) => arn.split(':').at(-1));
  expect(stderr.match(/(?<= follow )\S+/g)).toEqual(names);
});

test('if a pause of several rules fails, pause reports which ones it has switched off', async () => {
  const { cli } = await awsWithTarget(refusedFromTheThird('DescribeRule'), RULES_ON);
  const { code, stdout, stderr } = await cli('pause', '--all');
  expect(code).toBe(3);
  expect(stderr).toMatch(/The limit is reached\. Switched off before that: leads, \S+; not: \S+\.\n$/);
  expect(stdout).toMatch(/^leads: switched off .*\n\S+: switched off .*\n$/);
});

test('pause switches rules off, and resume warns of entities that the configuration disables', async () => {
  const { cli, asked } = await awsWithTarget(RULES_ON, configured({ entities: { contacts: { enabled: false } } }));

  const paused = await cli('pause', 'leads');
  const resumed = await cli('resume', 'leads', 'contacts');

  expect(paused.stdout).toBe('leads: switched off (rule crm-export-test-leads).\n');
  expect(resumed.stdout).toMatch(/^leads: was on already .*\ncontacts: was on already /);
  expect(resumed.stderr).toMatch(/^The configuration has switched off contacts: .*\nresume exports no missed nights/);
  expect(resumed.stderr).toMatch(/\nTo export the current records: .* start leads contacts .*--deployment test\n/);
  expect(resumed.stderr).not.toContain('backfill');
  expect((await cli('resume', '--all')).stderr).toMatch(/ start --all .*\n/);
  expect(asked.slice(0, 4)).toEqual(['DescribeRule', 'DisableRule', 'DescribeRule', 'DescribeRule']);
});

test('resume switches a paused rule on', async () => {
  const { cli, asked } = await awsWithTarget({ DescribeRule: { State: 'DISABLED' }, EnableRule: {} });

  expect((await cli('resume', 'leads')).stdout).toMatch(/^leads: switched on /);
  expect(asked).toEqual(['DescribeRule', 'EnableRule']);
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
    const { code, stderr } = await cli('start', 'leads', 'contacts', '--date', date, '--same-data');
    expect({ code, started: started.length }).toEqual(taken ? { code: 0, started: 2 } : { code: 2, started: 0 });
    if (!taken)
      expect(stderr).toMatch(
        new RegExp(`^${date} is not a valid date for an export: dates go from 2000-01-01 to today`),
      );
  });

  const dated = (...entities: Entity[]) =>
    configured({ entities: Object.fromEntries(entities.map((entity) => [entity, { filters: FILTERS }])) });
  const FILTERS = [{ field: 'updatedAt', operator: 'gte', value: { $date: 'day-1d' } }];

  test.for<[string, string[], Entity[], string | undefined]>([
    [
      'a past date if no plan depends on the date',
      ['leads', 'contacts', '--date', '2026-11-19'],
      [],
      'plans of leads, contacts do',
    ],
    [
      'a past date if one plan does not depend on the date',
      ['leads', 'contacts', '--date', '2026-11-19'],
      ['leads'],
      'plan of contacts does',
    ],
    ['a past date with --all', ['--all', '--date', '2026-11-19'], ['leads'], 'plans of agent-numbers, .* do'],
    [
      'a past date if all plans depend on the date',
      ['leads', 'contacts', '--date', '2026-11-19'],
      ['leads', 'contacts'],
      undefined,
    ],
    ['today', ['leads', 'contacts', '--date', '2026-11-20'], [], undefined],
    ['a past date with --same-data', ['leads', 'contacts', '--date', '2026-11-19', '--same-data'], [], undefined],
    ['no date', ['leads', 'contacts'], [], undefined],
  ])('start checks the plans for %s', async ([, args, entities, refusal]) => {
    const { cli, started } = await awsWithTarget(dated(...entities));

    const { code, stderr } = await cli('start', ...args);

    expect({ code, started: started.length }).toEqual(refusal ? { code: 2, started: 0 } : { code: 0, started: 2 });
    if (refusal)
      expect(stderr).toMatch(
        new RegExp(`^The deployed ${refusal} not depend on the date, .* of today under 2026-11-19\\. .*--same-data`),
      );
  });

  test.for(dates)('retry of a run for %s in the zone %s: started %s', async ([date, zone, taken]) => {
    const { cli, started } = await inZone(zone, { date });
    const { code, stderr } = await cli('retry', NAME);
    expect({ code, started: started.length }).toEqual(taken ? { code: 0, started: 1 } : { code: 2, started: 0 });
    if (!taken)
      expect(stderr).toMatch(
        /^\S+ is not a valid date for an export: .*\nTo export the current records: npx --no -- crm-export start leads /,
      );
  });

  test.for(['2026-11-21T00:00:00Z', 'soon'])('retry refuses a run that was due at %s', async (scheduledFor) => {
    const { cli, started } = await inZone('UTC', { scheduledFor });
    expect(await cli('retry', NAME)).toMatchObject({ code: 2 });
    expect(started).toEqual([]);
  });
});
