import { expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { clockAt } from '../../support/clock.ts';
import { expectResults } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type FakeDeployment, fleet, LAST_NIGHT } from '../support/cloud/fleet.ts';
import { runCli } from '../support/run-cli.ts';

const NIGHT = LAST_NIGHT;
/** The morning after the night. */
clockAt('2026-11-20T07:00:00Z');
const all = (startedAt: string) =>
  Object.fromEntries(ENTITIES.map((entity) => [entity, startedAt])) as Record<Entity, string>;
const daysAgo = (days: number) => new Date(Date.parse(NIGHT) - days * 86_400_000).toISOString();
const { leads: _, ...withoutLeads } = all(NIGHT);

/** Runs `status --all-deployments` for an account. */
async function statusOfAll(deployments: FakeDeployment[], ...options: string[]) {
  const cloud = await aws(...fleet(deployments));
  const args = ['--all-deployments', '--endpoint-url', cloud.endpoint, ...options];
  return { ...cloud, ...(await runCli('status', ...args)) };
}

/** A good deployment, and one with each kind of fault. Two names have the same prefix. */
const FLEET: FakeDeployment[] = [
  { name: 'agency', published: all(NIGHT) },
  { name: 'failed', published: { ...withoutLeads, leads: daysAgo(1) }, failed: { leads: 'RateLimited' } },
  { name: 'failed-too', published: all(NIGHT), alarms: ['FileQuarantined'] },
  { name: 'half', trouble: 'half' },
  { name: 'denied', published: all(NIGHT), trouble: 'denied' },
  { name: 'gone', trouble: 'deleted' },
  {
    name: 'paused',
    published: { ...withoutLeads, leads: daysAgo(9) },
    paused: ['leads'],
    alarms: ['ExecutionsAborted'],
  },
];

test('prints one line for each deployment, worst first, with a reason for each unknown one', async () => {
  const many = await statusOfAll(FLEET);
  const none = await statusOfAll([{ name: 'gone', trouble: 'deleted' }]);
  const { endpoint } = await aws(...fleet([{ name: 'silent', trouble: 'silent' }]));
  const one = ['--deployment', 'silent', '--endpoint-url', endpoint, '--call-timeout', '1'];
  const silent = await runCli('status', ...one);

  expect([many, none, silent].map(({ code }) => code)).toEqual([1, 3, 3]);
  await expectResults('all-deployments', [
    ['one of each kind', many],
    ['none', none],
    ['one that does not answer', silent],
  ]);
});

test('--json has the status of each deployment and why one is unknown, even if their names begin alike', async () => {
  const { code, stdout, calls } = await statusOfAll(
    [
      { name: 'prod', published: all(NIGHT), recorded: [] },
      { name: 'prod-2', published: { ...withoutLeads, leads: daysAgo(1) }, paused: ['leads'], alarms: ['A'] },
      { name: 'prod-3', published: all(NIGHT), trouble: 'rolling back' },
      { name: 'prod-4', gone: ['leads'] },
      { name: 'prod-5', trouble: 'half' },
    ],
    '--json',
  );

  expect(code).toBe(1);
  const { ok, deployments } = JSON.parse(stdout);
  expect(ok).toBe(false);
  expect(deployments).toMatchObject([
    { deployment: 'prod', why: null, ok: true, night: { complete: true, revision: 3 }, warnings: [expect.any(String)] },
    { deployment: 'prod-2', why: null, ok: false, alarms: ['A'] },
    { deployment: 'prod-3', ok: true, warnings: expect.arrayContaining([expect.stringContaining('ROLLBACK_FAILED')]) },
    { deployment: 'prod-4', ok: false },
    { deployment: 'prod-5', why: expect.any(String) },
  ]);
  const rulesOf = ({ entities = [] }: { entities?: { rule: string }[] }) => new Set(entities.map(({ rule }) => rule));
  expect(deployments.slice(0, 4).map(rulesOf)).toEqual([
    new Set(['on']),
    new Set(['paused', 'on']),
    new Set(['on']),
    new Set(['withoutRule', 'on']),
  ]);
  expect(calls.map(({ operation }) => operation)).not.toContain('ListRules');
});
