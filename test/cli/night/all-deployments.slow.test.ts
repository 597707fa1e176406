import { expect, test, vi } from 'vitest';
import { exitCodeOfAll } from '../../../cli/night/all-deployments.ts';
import { addStatus } from '../../../cli/night/night-status.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { clockAt } from '../../support/clock.ts';
import { denied } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type FakeDeployment, fleet, LAST_NIGHT } from '../support/cloud/fleet.ts';
import type { Part } from '../support/cloud/world.ts';
import { runCli, useCommands } from '../support/run-cli.ts';

useCommands({ status: addStatus });

const NIGHT = LAST_NIGHT;
const COUNT = ENTITIES.length;
/** The morning after the night. */
clockAt('2026-11-20T07:00:00Z');
const all = (startedAt: string) =>
  Object.fromEntries(ENTITIES.map((entity) => [entity, startedAt])) as Record<Entity, string>;
const daysAgo = (days: number) => new Date(Date.parse(NIGHT) - days * 86_400_000).toISOString();
const { leads: _, ...withoutLeads } = all(NIGHT);
/** Runs `status --all-deployments` for an account. */
async function statusOfAll(parts: Part[], ...options: string[]) {
  const cloud = await aws(...parts);
  const args = ['--all-deployments', '--endpoint-url', cloud.endpoint, ...options];
  return { ...cloud, ...(await runCli('status', ...args)) };
}

/** Fourteen good deployments, and one with each kind of fault. Two names have the same prefix. */
const FLEET: FakeDeployment[] = [
  ...Array.from({ length: 14 }, (_, index) => ({
    name: `agency-${String(index).padStart(2, '0')}`,
    published: all(NIGHT),
  })),
  { name: 'failed', published: { ...withoutLeads, leads: daysAgo(1) }, failed: { leads: 'RateLimited' } },
  { name: 'failed-too', published: all(NIGHT), alarms: ['FileQuarantined'] },
  { name: 'half', trouble: 'half' },
  { name: 'denied', published: all(NIGHT), trouble: 'denied' },
  { name: 'silent', published: all(NIGHT), trouble: 'silent' },
  { name: 'gone', trouble: 'deleted' },
  {
    name: 'paused',
    published: { ...withoutLeads, leads: daysAgo(9) },
    paused: ['leads'],
    alarms: ['ExecutionsAborted'],
  },
];

test('of twenty deployments each has one line, the worst first; those that do not answer say why', async () => {
  const { code, stdout, calls } = await statusOfAll(fleet(FLEET), '--call-timeout', '2');

  expect(code).toBe(1);
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(20);
  expect(lines.slice(0, 2)).toEqual([
    `✕ failed: Last night: 1 of ${COUNT} missing: leads`,
    `✕ paused: Last night: 1 of ${COUNT} missing: leads; alarms: ExecutionsAborted`,
  ]);
  expect(lines.slice(2, 5)).toEqual([
    expect.stringMatching(/^\? denied: not known: AWS denies access \(AccessDenied\)/),
    '? half: not known: The stack crm-export-half is only half deployed (ROLLBACK_COMPLETE): deploy it again.',
    expect.stringMatching(/^\? silent: not known: .*does not answer/),
  ]);
  expect(lines).toContain(`✓ agency-07: Last night: ${COUNT} of ${COUNT} published`);
  expect(lines).toContain(`✓ failed-too: Last night: ${COUNT} of ${COUNT} published; alarms: FileQuarantined`);
  expect(stdout).not.toContain('gone');
  expect(calls.filter(({ operation }) => operation === 'DescribeAlarms')).toHaveLength(1);
});

test('the document has what status says of each, and why one is not known', async () => {
  const parts = fleet([
    { name: 'good', published: all(NIGHT), recorded: [] },
    { name: 'half', trouble: 'half' },
    { name: 'off', published: { ...withoutLeads, leads: daysAgo(1) }, paused: ['leads'], alarms: ['A'] },
  ]);

  const { code, stdout } = await statusOfAll(parts, '--json');

  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    deployments: [
      { deployment: 'good', why: null, ok: true, night: { complete: true, revision: 3 } },
      { deployment: 'half', why: expect.stringContaining('only half deployed') },
      { deployment: 'off', why: null, ok: false, alarms: ['A'] },
    ],
  });
});

test('rules are asked for by name: those of twenty others whose names begin alike are not taken for those of one', async () => {
  const others = Array.from({ length: 20 }, (_, index) => ({ name: `prod-${index}`, published: all(NIGHT) }));
  const parts = fleet([
    { name: 'prod', published: all(NIGHT), paused: [...ENTITIES] },
    ...others,
    { name: 'gone', gone: ['leads'] },
  ]);

  const { stdout, calls } = await statusOfAll(parts, '--json');

  const { deployments } = JSON.parse(stdout);
  const off = deployments.flatMap(({ deployment, entities }: { deployment: string; entities: { rule: string }[] }) => {
    const rules = entities.map(({ rule }) => rule).filter((rule) => rule !== 'on');
    return rules.length > 0 ? [{ deployment, rules }] : [];
  });
  expect(deployments).toHaveLength(22);
  expect(off).toEqual([
    { deployment: 'gone', rules: ['withoutRule'] },
    { deployment: 'prod', rules: ENTITIES.map(() => 'paused') },
  ]);
  expect(calls.map(({ operation }) => operation)).not.toContain('ListRules');
});

const FIRST_START = '2026-11-21T01:00:00Z';
test.each([
  ['before its first start the night before counts', -1, '✓', `Last night: ${COUNT} of ${COUNT} published`, 0],
  ['from its first start its runs are to come', 0, '…', `so far: 0 of ${COUNT} published, ${COUNT} still to come`, 0],
  ['in two hours EventBridge may still start them', 120, '…', `0 of ${COUNT} published, ${COUNT} still to come`, 0],
  ['a run that was started at the last moment may not be listed', 134, '…', `${COUNT} still to come`, 0],
  ['after that nothing comes by itself', 135, '✕', `Last night: ${COUNT} of ${COUNT} missing: leads`, 1],
])('of a night without runs, %s', async (_, minutes, sign, headline, exitCode) => {
  vi.setSystemTime(Date.parse(FIRST_START) + minutes * 60_000);

  const { code, stdout } = await statusOfAll(fleet([{ name: 'one', published: all(NIGHT) }]));

  expect(code).toBe(exitCode);
  expect(stdout).toMatch(new RegExp(`^${sign} one: .*${headline}`));
});

test('whoever may not read alarms sees everything else', async () => {
  const parts = [denied('DescribeAlarms'), ...fleet([{ name: 'one', published: all(NIGHT) }])];

  const { code, stdout, stderr } = await statusOfAll(parts, '--json');

  expect(code).toBe(0);
  expect(stderr).toMatch(/^Which alarms are raised is not known: AWS denies access/);
  expect(JSON.parse(stdout).deployments).toMatchObject([{ deployment: 'one', alarms: null, ok: true }]);
});

test('where executions cannot be read, what is not published may be under way: it is not known', async () => {
  const parts = [denied('ListExecutions'), ...fleet([{ name: 'one', published: withoutLeads }])];

  const { code, stdout } = await statusOfAll(parts);

  expect(code).toBe(3);
  expect(stdout).toMatch(/^\? one: Last night: not known of leads\n$/);
});

test('of one that is half updated the document says so, and what its night is', async () => {
  const parts = fleet([{ name: 'one', published: all(NIGHT), trouble: 'rolling back' }]);

  const { stdout } = await statusOfAll(parts, '--json');

  const [{ ok, warnings }] = JSON.parse(stdout).deployments;
  expect(ok).toBe(true);
  expect(warnings).toContain(
    'The stack crm-export-one is in UPDATE_ROLLBACK_FAILED: a deployment goes on, or was not finished. Until one has ended well, functions may have another configuration than the template says.',
  );
});

test('a rule that somebody changed is named', async () => {
  const changed: Part = {
    DescribeRule: ({ input: { Name } }) => {
      const schedule = String(Name).endsWith('-leads') ? 'cron(0 5 * * ? *)' : undefined;
      return { Name, State: 'ENABLED', ScheduleExpression: schedule };
    },
  };

  const { stdout } = await statusOfAll([changed, ...fleet([{ name: 'one', published: all(NIGHT) }])], '--json');

  const [{ entities }] = JSON.parse(stdout).deployments;
  const not = entities.filter(({ rule }: { rule: string }) => rule !== 'on');
  expect(not).toMatchObject([{ entity: 'leads', rule: 'changed' }]);
});

test('an account without any deployment is no answer', async () => {
  const { code, stderr } = await statusOfAll(fleet([{ name: 'gone', trouble: 'deleted' }]));

  expect(code).toBe(3);
  expect(stderr).toBe('There is no deployment here: check --profile and --region (this is us-east-1).\n');
});

test('a night that begins in local time is judged by what is deployed, without a configuration file', async () => {
  const published = all(NIGHT);
  // 03:00 in Jerusalem is 00:00 or 01:00 UTC.
  const nightly = { at: '03:00', spreadMinutes: 0 };
  const local = { configuration: { timeZone: 'Asia/Jerusalem', nightly } };
  const parts = fleet([
    { name: 'local', published, ...local },
    { name: 'missing', published: { ...withoutLeads, leads: daysAgo(2) }, ...local },
    { name: 'stopped', published: all(daysAgo(8)) },
  ]);

  const { stdout } = await statusOfAll(parts);

  expect(stdout.split('\n')).toEqual([
    `✕ missing: Last night: 1 of ${COUNT} missing: leads`,
    `✕ stopped: Last night: ${COUNT} of ${COUNT} missing: ${ENTITIES.join(', ')}`,
    `✓ local: Last night: ${COUNT} of ${COUNT} published`,
    '',
  ]);
});

test('a deployment and all of them is a contradiction', async () => {
  const { code, stderr } = await runCli('status', '--all-deployments', '--deployment', 'prod');

  expect(code).toBe(2);
  expect(stderr).toMatch(/'--all-deployments' cannot be used with option/);
});

test('the exit code of several deployments is the smallest that is not 0, as a number', () => {
  expect(exitCodeOfAll([0, 0])).toBe(0);
  expect(exitCodeOfAll([0, 3, 1])).toBe(1);
  expect(exitCodeOfAll([130, 2])).toBe(2);
});
