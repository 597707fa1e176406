import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inputAgain } from '../../cli/runs/retry.ts';
import { consequences } from '../../cli/runs/stop.ts';
import { tempDir } from '../local/support/support.ts';
import { newState, run, runState } from '../support/builders.ts';
import { clockAt } from '../support/clock.ts';
import { deploymentServer, jsonServer, OUTPUTS, RUN_ARNS, sfnAt, stackReply } from './support/aws-server.ts';
import { runCli } from './support/run-cli.ts';

const NAME = 'leads-20261120T220000Z-1a2b3c';
const executionArn = `${RUN_ARNS}:${NAME}`;
const startDate = new Date('2026-11-20T22:00:00.250Z');
const found = {
  ...{ executionArn, name: NAME, entity: 'leads' as const, status: 'FAILED', startDate, stopDate: undefined },
  what: 'export' as const,
};
const stateOf = (date: string) =>
  JSON.stringify(runState({ execution: NAME, startedAt: startDate.toISOString(), run: run({ date }) }));

/** The input that a retry would give, where the old run had this one and came this far. */
async function anew(input: string, state?: string, TimeZone?: string, fresh?: boolean) {
  const stateEnteredEventDetails = { name: 'CheckStatus', input: state };
  const events = state ? [{ id: 0, timestamp: 1, type: 'TaskStateEntered', stateEnteredEventDetails }] : [];
  const { endpoint } = await jsonServer(({ operation }) =>
    operation === 'DescribeExecution'
      ? { output: { executionArn, name: NAME, status: 'FAILED', startDate: 1, input } }
      : { output: { events } },
  );
  return inputAgain({ sfn: sfnAt(endpoint), TimeZone }, found, fresh);
}

test('a retry has the input of the old run, and its date: as given, as that run found, else by when it was due or began', async () => {
  const given = { entity: 'leads', date: '2026-11-02', columns: ['id'], Comment: 'x' };
  expect(await anew(JSON.stringify(given), stateOf('2026-11-21'))).toEqual(given);
  // Near midnight: in the time zone of the deployment it was the next day already.
  expect(await anew('{"entity":"leads"}', stateOf('2026-11-21'))).toEqual({ entity: 'leads', date: '2026-11-21' });
  const due = { entity: 'leads', scheduledFor: '2026-11-20T21:00:00Z' };
  expect(await anew(JSON.stringify(due))).toEqual(due);
  // A date instead of `scheduledFor` keeps its timeline from reading as that of a nightly run.
  expect(await anew(JSON.stringify(due), stateOf('2026-11-20'))).toEqual({ entity: 'leads', date: '2026-11-20' });
  expect(await anew(JSON.stringify({ ...due, date: '2026-11-02' }))).toEqual({ entity: 'leads', date: '2026-11-02' });
  expect(await anew('{"entity":"leads"}')).toEqual({ entity: 'leads', scheduledFor: '2026-11-20T22:00:00.250Z' });
});

test('a retry of a run that found no date has the one that its start has where the deployment is', async () => {
  expect(await anew('{"entity":"leads","scheduledFor":"2026-11-20T22:30:00Z"}', undefined, 'Asia/Jerusalem')).toEqual({
    ...{ entity: 'leads', date: '2026-11-21' },
  });
  expect(await anew('{"entity":"leads"}', undefined, 'America/New_York')).toEqual({
    entity: 'leads',
    date: '2026-11-20',
  });
});

test('a retry of a nightly run that waited for the CRM has the date of its start, though the rule fired after midnight', async () => {
  const waited = JSON.stringify(newState({}, { date: '2026-11-20', waits: 1 }));
  const late = '{"entity":"leads","scheduledFor":"2026-11-20T22:05:00Z"}';

  expect(await anew(late, waited, 'Asia/Jerusalem')).toEqual({ entity: 'leads', date: '2026-11-20' });
});

test('a retry adopts the export of the old run, which may have adopted it itself; a fresh one adopts nothing', async () => {
  const state = stateOf('2026-11-20');
  const adopting = { entity: 'leads', date: '2026-11-20', adopt: NAME };
  expect(await anew('{"entity":"leads"}', state)).toEqual(adopting);
  const retried = JSON.stringify({ ...adopting, adopt: 'leads-before' });
  expect(await anew(retried, state)).toEqual(adopting);
  expect(await anew(retried, state, undefined, true)).toEqual({ entity: 'leads', date: '2026-11-20' });
});

test('a release is repeated as it was: it has neither a date nor an export of its own', async () => {
  const release = { entity: 'leads', release: 'leads-before', reason: 'Holidays' };
  expect(await anew(JSON.stringify(release), stateOf('2026-11-20'), 'UTC')).toEqual(release);
});

test.for(['{"entity":"leeds"}', '[]', 'x'])('a run with the input %s cannot be retried', async (input) => {
  await expect(anew(input)).rejects.toMatchObject({ exitCode: 2, message: expect.stringContaining('names no entity') });
});

test('before a run is stopped, it is said what becomes of the export, of the file and of a step at work', () => {
  const text = (state: string) => consequences(found, state, undefined).join('\n');
  expect(text('CheckStatus')).toMatch(/at CheckStatus\.\nIf the CRM has taken on an export .*\n.*no pointer/);
  expect(text('CheckStatus')).toContain('A function that is at work ends its step');
  expect(text('PublishFile')).toContain('it may still publish the file');
});

/** A deployment whose one run says these statuses, one after the other. */
async function withRun(...statuses: string[]) {
  return deploymentServer(({ operation }) => {
    if (operation === 'GetExecutionHistory') return { output: { events: [] } };
    if (operation === 'StopExecution') return { error: 'ValidationException', message: 'Execution is not running' };
    const status = statuses.length > 1 ? statuses.shift() : statuses[0];
    return { output: { executionArn, name: NAME, status, startDate: 1, input: '{}' } };
  });
}
const prod = (endpoint: string) => ['--deployment', 'prod', '--endpoint-url', endpoint];

test('a run that ended just before it was stopped is reported as ended, not as stopped', async () => {
  const { endpoint } = await withRun('RUNNING', 'SUCCEEDED');
  const { code, stdout, stderr } = await runCli('stop', NAME, '--yes', ...prod(endpoint));
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/ has ended \(SUCCEEDED\), before it could be stopped\.\n$/);
});

test('the command that a stopped run names can be pasted, whatever name a person gave the run', async () => {
  const name = "it's(mine)!";
  const { endpoint, calls } = await deploymentServer(({ operation }) => {
    if (operation === 'GetExecutionHistory') return { output: { events: [] } };
    return { output: { executionArn: `${RUN_ARNS}:${name}`, name, status: 'RUNNING', startDate: 1, input: '{}' } };
  });
  expect(await runCli('stop', name, '--yes', ...prod(endpoint))).toMatchObject({ code: 0 });
  const stop = calls.find(({ operation }) => operation === 'StopExecution');
  expect(stop?.input.cause).toBe(`An operator stopped it: npm run cli -- stop 'it'\\''s(mine)!'.`);
});

test('a run without an entity cannot be followed', async () => {
  const { endpoint } = await withRun('FAILED');
  expect(await runCli('follow', NAME, ...prod(endpoint))).toMatchObject({
    code: 2,
    stderr: `The input of ${NAME} names no entity, so there is nothing to follow.\n`,
  });
});

test('the cause of a failed run reaches the terminal without what a terminal would obey', async () => {
  const cause = 'No file.\u001b]0;owned\u0007\u202eReally.';
  const { endpoint } = await deploymentServer(({ operation }) => {
    if (operation === 'GetExecutionHistory') return { output: { events: [] } };
    const run = { executionArn, name: NAME, status: 'FAILED', startDate: 1, input: '{"entity":"leads"}' };
    return { output: { ...run, error: 'Export\u001b[31mFailed', cause } };
  });
  expect(await runCli('follow', NAME, ...prod(endpoint))).toMatchObject({
    code: 1,
    stderr: 'leads: ExportFailed: No file. Really.\n  Readers have no leads at all.\n',
  });
});

test('rights that are lost while a run is followed say nothing about the run, and how to follow it again', async () => {
  let looks = 0;
  const { endpoint } = await deploymentServer(({ operation }) => {
    looks += 1;
    if (looks > 3) return { error: 'ExpiredTokenException' };
    if (operation === 'GetExecutionHistory') return { output: { events: [] } };
    return { output: { executionArn, name: NAME, status: 'RUNNING', startDate: 1, input: '{"entity":"leads"}' } };
  });
  const { code, stderr } = await runCli('follow', NAME, ...prod(endpoint));
  expect(code).toBe(3);
  expect(stderr).toMatch(
    /^The AWS credentials have expired .*\nThis says nothing about the run\. To follow again: npm run/,
  );
});

/** A deployment that refuses the third of such calls, in words for which there is no advice. */
async function refusingTheThird(operation: string) {
  let calls = 0;
  return deploymentServer((call) => {
    if (call.operation === operation) calls += 1;
    if (calls > 2) return { error: 'ExecutionLimitExceeded', message: 'The limit is reached' };
    if (operation === 'DescribeRule') return { output: { Name: 'x', State: 'ENABLED' } };
    return { output: { executionArn: `${RUN_ARNS}:${String(call.input.name)}`, startDate: 1 } };
  });
}

test('whatever ends a start of several, those that were started are reported', async () => {
  const start = async (...json: string[]) => {
    const { endpoint } = await refusingTheThird('StartExecution');
    return runCli('start', 'leads', 'contacts', 'meetings', ...json, ...prod(endpoint));
  };
  const { code, stdout, stderr } = await start();
  expect(code).toBe(3);
  expect(stdout).toMatch(/^arn:\S+:leads-\S+\narn:\S+:contacts-\S+\n$/);
  expect(stderr).toMatch(
    /^ExecutionLimitExceeded: The limit is reached\. Started before that: leads-\S+, contacts-\S+; not started: meetings\.\n$/,
  );
  expect(JSON.parse((await start('--json')).stdout)).toMatchObject({
    ...{ ok: false, error: expect.stringMatching(/not started: meetings\.$/) },
    runs: [{ entity: 'leads' }, { entity: 'contacts' }],
  });
});

test('a start past a change of columns says so in the input of the run', async () => {
  const { endpoint, calls } = await deploymentServer(({ input }) => ({
    output: { executionArn: `${RUN_ARNS}:${String(input.name)}`, startDate: 1 },
  }));
  await runCli('start', 'leads', '--accept-schema', ...prod(endpoint));
  await runCli('start', 'leads', ...prod(endpoint));
  expect(calls.map(({ input }) => JSON.parse(String(input.input)))).toEqual([
    { entity: 'leads', acceptSchema: true },
    { entity: 'leads' },
  ]);
});

test('whatever ends a pause of several, those that were switched off are reported', async () => {
  const { endpoint } = await refusingTheThird('DescribeRule');
  const { code, stdout, stderr } = await runCli('pause', '--all', '--json', ...prod(endpoint));
  expect(code).toBe(3);
  expect(stderr).toMatch(/The limit is reached\. Switched off before that: leads, \S+; not: \S+\.\n$/);
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, rules: [{ entity: 'leads', state: 'DISABLED' }, {}] });
});

test('pause tells the hours of the configuration, and resume what a deploy would switch off again', async () => {
  const { endpoint, calls } = await deploymentServer(({ operation }) => ({
    output: operation === 'DescribeRule' ? { Name: 'x', State: 'ENABLED' } : {},
  }));
  const file = join(await tempDir(), 'prod.json');
  const crm = { baseUrl: 'https://crm.example/api', authUrl: 'https://crm.example/auth' };
  const alarms = { freshnessHours: 30 };
  await writeFile(file, JSON.stringify({ crm, alarms, entities: { contacts: { enabled: false } } }));
  const where = [...prod(endpoint), '--configuration', file];

  const paused = await runCli('pause', 'leads', ...where);
  const resumed = await runCli('resume', 'leads', 'contacts', ...where);

  expect(paused.stderr).toContain('NoPublishedExport is raised 30 hours after');
  expect(paused.stdout).toBe('leads: switched off (rule crm-export-prod-leads).\n');
  expect(resumed.stdout).toMatch(/^leads: was on already .*\ncontacts: was on already /);
  expect(resumed.stderr).toMatch(/^The configuration has switched off contacts: .*\nNights that were missed/);
  expect(calls.map(({ operation }) => operation)).toEqual([
    ...['DescribeRule', 'DisableRule', 'DescribeRule', 'DescribeRule'],
  ]);
  const broken = await runCli('pause', 'leads', ...prod(endpoint), '--configuration', '/nonexistent.json');
  expect(broken).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^ConfigInvalid: /) });
});

/** A deployment with a time zone, whose one run had this input and was refused. */
async function inZone(TimeZone: string | undefined, input: object = {}) {
  const { endpoint, calls } = await deploymentServer(
    ({ operation, input: asked }) => {
      if (operation === 'GetExecutionHistory') return { output: { events: [] } };
      if (operation === 'StartExecution') return { output: { executionArn: `${RUN_ARNS}:${String(asked.name)}` } };
      const run = { executionArn, name: NAME, status: 'FAILED', startDate: startDate.getTime() / 1000 };
      return { output: { ...run, input: JSON.stringify({ entity: 'leads', ...input }) } };
    },
    stackReply({ ...OUTPUTS, ...(TimeZone && { TimeZone }) }),
  );
  const started = () => calls.filter(({ operation }) => operation === 'StartExecution').length;
  return { place: prod(endpoint), started };
}
const dates = [
  ['2026-11-20', 'UTC', true],
  ['2026-11-21', 'UTC', false],
  ['2026-11-21', 'Pacific/Auckland', true],
  ['2026-11-20', 'Etc/GMT+12', true],
  ['2026-11-21', 'Etc/GMT+12', false],
  ['2000-01-01', 'UTC', true],
  ['1999-12-31', 'UTC', false],
  ['0001-01-01', 'UTC', false],
  ['2099-01-01', 'UTC', false],
  // A stack of an earlier release does not say its zone: what is a date nowhere on earth yet is refused all the same.
  ['2026-11-21', undefined, true],
  ['2026-11-22', undefined, false],
] as const;

describe('at noon UTC of 2026-11-20', () => {
  clockAt('2026-11-20T12:00:00Z');

  test.for(dates)('start --date %s in the zone %s: started %s', async ([date, zone, taken]) => {
    const { place, started } = await inZone(zone);
    const { code, stderr } = await runCli('start', 'leads', 'contacts', '--date', date, ...place);
    expect({ code, started: started() }).toEqual(taken ? { code: 0, started: 2 } : { code: 2, started: 0 });
    if (!taken)
      expect(stderr).toMatch(new RegExp(`^${date} is no date for an export: they go from 2000-01-01 to today`));
  });

  test.for(dates)('retry of a run for %s in the zone %s: started %s', async ([date, zone, taken]) => {
    const { place, started } = await inZone(zone, { date });
    const { code, stderr } = await runCli('retry', NAME, ...place);
    expect({ code, started: started() }).toEqual(taken ? { code: 0, started: 1 } : { code: 2, started: 0 });
    if (!taken)
      expect(stderr).toMatch(
        /^\S+ is no date for an export: .*\nTo run it for another: npm run cli -- start leads --date/,
      );
  });

  test.for(['2099-01-01T01:00:00Z', '0001-01-01T00:00:00Z', '2026-11-21T00:00:00Z', 'soon'])(
    'a run that was due at %s is not retried',
    async (scheduledFor) => {
      const { place, started } = await inZone('UTC', { scheduledFor });
      expect(await runCli('retry', NAME, ...place)).toMatchObject({ code: 2 });
      expect(started()).toBe(0);
    },
  );

  test.for(['2026-11-21', '2099-01-01'])('nothing is listed since %s, which is still to come', async (date) => {
    const { code, stderr } = await runCli('list', '--since', date, ...prod('http://127.0.0.1:9'));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('still to come') });
  });
});
