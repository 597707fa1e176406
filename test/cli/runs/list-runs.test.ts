import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { listRuns, runsText } from '../../../cli/runs/list-runs.ts';
import { sinceArgument } from '../../../cli/support/command-options.ts';
import { durationText } from '../../../cli/support/text.ts';
import type { Entity } from '../../../core/config/entities.ts';
import { ERRORS } from '../../../core/errors.ts';
import { earlierText } from '../../../core/export/layout.ts';
import { run, runState } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { expectScreen } from '../../support/screen.ts';
import { aRun } from '../support/a-run.ts';
import { bucketRefuses } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { type Execution, executions } from '../support/cloud/executions.ts';
import { stack } from '../support/cloud/stack.ts';

const NOW = new Date('2026-11-20T12:00:00Z');
const execution = (name: string, more: Partial<Execution> = {}): Execution => ({
  name,
  status: 'SUCCEEDED',
  input: { entity: 'leads' },
  start: '2026-11-20T01:00:00.000Z',
  stop: '2026-11-20T01:00:12.000Z',
  ...more,
});
const wanted = { entities: [], since: new Date('2026-11-01'), failed: false };
const silent = { ...wanted, warn: () => undefined };

test('--since accepts a duration or a date, and refuses anything else', () => {
  expect(sinceArgument('7d', NOW)).toEqual(new Date('2026-11-13T12:00:00Z'));
  expect(sinceArgument('12h', NOW)).toEqual(new Date('2026-11-20T00:00:00Z'));
  expect(sinceArgument('2w', NOW)).toEqual(new Date('2026-11-06T12:00:00Z'));
  expect(sinceArgument('2026-11-01', NOW)).toEqual(new Date('2026-11-01T00:00:00Z'));
  for (const text of ['', '7', 'd', '-1d', 'yesterday', '2026-02-30'])
    expect(() => sinceArgument(text, NOW)).toThrow(/7d or 2w/);
  expect(() => sinceArgument('2026-11-21', NOW)).toThrow('is in the future');
});

test('a run is joined with its manifest; a failed run has its error and the date that it computed', async () => {
  const late = { start: '2026-11-20T23:30:00.000Z', stop: '2026-11-20T23:31:00.000Z', status: 'FAILED' };
  const cloud = await awsWithTarget(
    stack({ TimeZone: 'Asia/Jerusalem' }),
    executions([
      execution('late', { ...late, error: 'RateLimited', cause: 'Too many.' }),
      execution('asked', {
        ...late,
        start: '2026-11-20T03:00:00.000Z',
        input: { entity: 'leads', date: '2026-11-02' },
        error: 'X',
      }),
      execution('leads-night'),
    ]),
  );
  cloud.publish();
  const runs = await listRuns(cloud.target, silent);
  expect(runs).toEqual([
    expect.objectContaining({ run: 'late', error: 'RateLimited', date: '2026-11-21', seconds: 60, standing: null }),
    expect.objectContaining({ run: 'asked', error: 'X', date: '2026-11-02' }),
    expect.objectContaining({
      run: 'leads-night',
      status: 'SUCCEEDED',
      date: '2026-11-20',
      rows: 1,
      bytes: 12,
      seconds: 12,
      standing: 'latest',
    }),
  ]);
  expect(await listRuns(cloud.target, { ...silent, failed: true })).toHaveLength(2);
  expect(await listRuns(cloud.target, { ...silent, entities: ['contacts'] })).toEqual([]);
});

test('the later of two runs of a date is current', async () => {
  const cloud = await awsWithTarget(executions(['c', 'b', 'a'].map((name) => execution(name))));
  cloud.publish({ date: '2026-11-19', execution: 'a', manifest: { startedAt: '2026-11-19T01:00:00.000Z' } });
  cloud.publish({ date: '2026-11-19', execution: 'b', manifest: { startedAt: '2026-11-19T05:00:00.000Z' } });
  cloud.publish({ date: '2026-11-20', execution: 'c' });
  const runs = await listRuns(cloud.target, silent);
  expect(runs.map(({ run, standing }) => [run, standing])).toEqual([
    ['c', 'latest'],
    ['b', 'current'],
    ['a', 'superseded'],
  ]);
});

test('a run that failed after its manifest but before the pointers replaces no other run', async () => {
  const failed = { status: 'FAILED', error: 'StorageUnavailable', cause: 'Down.', start: '2026-11-20T05:00:00.000Z' };
  const ran = [execution('leads-later'), execution('leads-again', failed), execution('leads-night')];
  const cloud = await awsWithTarget(executions(ran));
  cloud.publish();
  const startedAt = '2026-11-20T05:00:00.000Z';
  cloud.publish({ execution: 'leads-again', manifest: { startedAt }, pointers: [] });
  cloud.publish({ date: '2026-11-21', execution: 'leads-later' });

  const runs = await listRuns(cloud.target, silent);

  expect(runs.map(({ run, standing, error }) => [run, standing, error])).toEqual([
    ['leads-later', 'latest', null],
    ['leads-again', null, 'StorageUnavailable'],
    ['leads-night', 'current', null],
  ]);
});

test('an unreadable manifest or pointer is left out, and reported', async () => {
  const cloud = await awsWithTarget(executions([execution('leads-night')]));
  cloud.publish();
  cloud.objects.set('runs/entity=leads/run=x/_manifest.json', Buffer.from('{"schemaVersion":9}'));
  const told: string[] = [];
  cloud.objects.set('published/entity=leads/latest.json', Buffer.from('no JSON'));
  const runs = await listRuns(cloud.target, { ...wanted, warn: (sentence) => void told.push(sentence) });
  expect(runs).toMatchObject([{ run: 'leads-night', standing: 'current' }]);
  expect(told.sort()).toEqual([
    expect.stringMatching(/^The object published\/entity=leads\/latest\.json has unexpected content/),
    expect.stringMatching(/^The object runs\/entity=leads\/run=x\/_manifest\.json has unexpected content/),
  ]);
});

test('manifests of an earlier release are not listed, and are reported once', async () => {
  const cloud = await awsWithTarget(executions([execution('leads-night')]));
  cloud.publish();
  const early = Buffer.from('{"schemaVersion":1,"entity":"leads"}');
  for (const run of ['x', 'y']) cloud.objects.set(`runs/entity=leads/run=${run}/_manifest.json`, early);
  cloud.objects.set('published/entity=leads/latest.json', early);
  const told: string[] = [];
  const runs = await listRuns(cloud.target, { ...wanted, warn: (sentence) => void told.push(sentence) });
  expect(runs).toMatchObject([{ run: 'leads-night', standing: 'current' }]);
  expect(told.sort()).toEqual([
    '1 other manifest of leads cannot be read either.',
    `${earlierText('published/entity=leads/latest.json')}: ${ERRORS.EarlierRelease.advice}`,
    `${earlierText('runs/entity=leads/run=x/_manifest.json')}: ${ERRORS.EarlierRelease.advice}`,
  ]);
});

test('if the bucket cannot be read, runs are listed without it, and this is reported', async () => {
  const failure = { status: 'FAILED', error: 'RateLimited', cause: 'Too many.' };
  const before = '2026-11-20T00:30:00.000Z';
  const ran = [execution('rule-2', failure), execution('rule-1', { start: before })];
  const cloud = await awsWithTarget(bucketRefuses('AccessDenied', 403), executions(ran));
  const told: string[] = [];
  const runs = await listRuns(cloud.target, { ...wanted, warn: (sentence) => void told.push(sentence) });
  expect(runs).toMatchObject([
    { run: 'rule-2', error: 'RateLimited', date: '2026-11-20' },
    { run: 'rule-1', status: 'SUCCEEDED', entity: 'leads', rows: null },
  ]);
  expect(told).toEqual([expect.stringMatching(/the bucket could not be read\. AWS denies access \(AccessDenied\)/)]);
});

test('a run with a manifest is not described again', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `rule-${index}`);
  const cloud = await awsWithTarget(executions(names.map((name) => execution(name))));
  for (const name of names) cloud.publish({ execution: name });
  expect(await listRuns(cloud.target, silent)).toHaveLength(40);
  expect(cloud.asked.filter((call) => call === 'DescribeExecution')).toEqual([]);
});

const row = aRun({
  date: '2026-11-20',
  rows: 1240,
  bytes: 80_073,
  standing: 'latest',
  warningCount: 0,
  kind: 'full',
});
const asked = { since: new Date('2026-11-13T00:00:00Z'), failed: false };

test('a pipe gets one line for each run, and a terminal a table', () => {
  const trouble = { error: 'CrmUnavailable', status: 503, count: 3 };
  const nextTryAt = '2099-11-20T01:01:00.000Z';
  const waiting = { state: 'WaitBeforeCheck', checks: 2, trouble, nextTryAt, deadline: null };
  const cells = '2026-11-20T01:00:00.000Z\tleads\t2026-11-20\tpublished\t12.5\t1240\t80073\tlatest\tleads-1';
  expect(runsText([row, { ...row, warningCount: 2 }, { ...row, waiting }], {}, asked).split('\n')).toEqual([
    cells,
    `${cells}\t2`,
    `${cells}\t\tWaitBeforeCheck, 2 checks answered, the last 3 refused: 503, next try 2099-11-20 01:01:00 UTC`,
  ]);
  const shown = stripVTControlCharacters(runsText([row], { isTTY: true }, asked));
  expect(shown).toMatch(/started \(UTC\) +entity +date +outcome +rows\n/);
  expect(shown).toMatch(
    /2026-11-20 01:00 +leads +2026-11-20 +published +1,240\n +leads-1 \(12\.5 s, 80\.1 kB, latest\)/,
  );
});

test('every row fits into 80 columns, whatever error ended the run', () => {
  const runs = Object.keys(ERRORS).map((error) => {
    return { ...row, entity: 'agent-numbers', outcome: 'failed', error, rows: 123_456, warningCount: 0 } as const;
  });
  const lines = stripVTControlCharacters(runsText(runs, { isTTY: true }, asked)).split('\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
});

describe('on a terminal', () => {
  clockAt('2026-11-20T05:00:00Z');

  test('shows each run of a night, and why a run waits', async () => {
    const { code, stderr } = await expectScreen('list', await aNight(), 'list', '--deployment', 'test');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

/** A night with running, failed and published runs, with warnings and with a second publication. */
async function aNight() {
  const deadline = '2026-11-20T07:00:00.000Z';
  const trouble = { error: 'CrmUnavailable', status: 503, count: 3, deadline };
  const waits = runState({ checks: 2, waitSeconds: 60, trouble, run: run({ entity: 'meetings', deadline }) });
  const of = (entity: Entity, start: string, more: Partial<Execution> = {}) =>
    execution(`${entity}-20261120T${start.replaceAll(':', '')}Z-${entity.length}f2d`, {
      ...{ input: { entity }, start: `2026-11-20T${start}.000Z`, stop: `2026-11-20T${start}.900Z`, ...more },
    });
  const entered: Execution['entered'] = [['WaitBeforeCheck', '2026-11-20T04:59:30.000Z', waits]];
  const again = of('leads', '03:00:00');
  const warned = of('agent-numbers', '01:10:00');
  const first = of('leads', '01:00:00');
  const failed = { status: 'FAILED', error: 'ReauthorizationRequired', cause: 'The grant is dead.' };
  const cloud = await awsWithTarget(
    executions([
      of('meetings', '04:58:00', { status: 'RUNNING', entered }),
      again,
      of('customers', '01:20:00', failed),
      warned,
      first,
    ]),
  );
  const since = { date: '2026-11-19', execution: 'x' };
  const drift = { since, added: ['email'], removed: ['phone'], retyped: [], unnamed: 1 };
  const publish = ({ name, start }: Execution, entity: Entity, rows: number, warnings: string[] = []) =>
    cloud.publish({
      ...{ entity, execution: name },
      manifest: {
        ...{ startedAt: start, warnings, file: { rows, bytes: rows * 65 } },
        ...(warnings.length > 0 && { drift }),
      },
    });
  publish(first, 'leads', 1238);
  publish(warned, 'agent-numbers', 310, ['One.', 'Two.']);
  publish(again, 'leads', 1240);
  return cloud;
}

test('with "running", lists only runs under way', async () => {
  const running = { status: 'RUNNING', start: '2026-11-20T02:00:00.000Z' };
  const failed = { status: 'FAILED', start: '2026-11-20T01:30:00.000Z', error: 'X' };
  const runs = [execution('c', running), execution('b', failed), execution('a')];
  const cloud = await awsWithTarget(executions(runs));
  cloud.publish({ execution: 'a' });
  const names = async (more: object) => (await listRuns(cloud.target, { ...silent, ...more })).map(({ run }) => run);
  expect(await names({})).toEqual(['c', 'b', 'a']);
  expect(await names({ running: true })).toEqual(['c']);
  expect(runsText([], { isTTY: true }, { ...asked, running: true })).toBe('No run is under way.');
});

test('prints one sentence on a terminal and an empty text to a pipe if there is no run', () => {
  expect(runsText([], {}, asked)).toBe('');
  expect(runsText([], { isTTY: true }, asked)).toBe('There is no run since 2026-11-13 00:00 UTC.');
  expect(runsText([], { isTTY: true }, { ...asked, failed: true })).toBe('No run failed since 2026-11-13 00:00 UTC.');
});

test.each([
  [0.04, '0.0 s'],
  [59.94, '59.9 s'],
  [60, '1 min'],
  [200, '3 min 20 s'],
  [7500, '2 h 5 min'],
])('%d seconds are shown as %s', (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});
