import { expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { clockAt } from '../../support/clock.ts';
import { expectResults } from '../../support/screen.ts';
import { aws } from '../support/cloud/cloud.ts';
import { type FakeDeployment, fleet, LAST_NIGHT } from '../support/cloud/fleet.ts';
import type { Part } from '../support/cloud/world.ts';
import { runCli } from '../support/run-cli.ts';

const NIGHT = LAST_NIGHT;
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

test('prints one line for each deployment, worst first, with a reason for each unknown one', async () => {
  const many = await statusOfAll(fleet(FLEET), '--call-timeout', '2');
  const none = await statusOfAll(fleet([{ name: 'gone', trouble: 'deleted' }]));
  const cloud = await aws(...fleet([{ name: 'silent', published: all(NIGHT), trouble: 'silent' }]));
  const silent = ['--deployment', 'silent', '--endpoint-url', cloud.endpoint, '--call-timeout', '1'];
  const one = await runCli('status', ...silent);

  expect([many, none, one].map(({ code }) => code)).toEqual([1, 3, 3]);
  expect(many.stdout.match(/^. agency-/gm)).toHaveLength(14);
  await expectResults('all-deployments', [
    // The others have the same line.
    ['twenty', { ...many, shown: many.shown.replace(/^. agency-(?!07).*\n/gm, '') }],
    ['none', none],
    ['one that does not answer', one],
  ]);
});

test('--json contains the status of each deployment, and why one is unknown', async () => {
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
      { deployment: 'half', why: expect.any(String) },
      { deployment: 'off', why: null, ok: false, alarms: ['A'] },
    ],
  });
});

test('reads rules by name, and does not mix up deployments with a common prefix', async () => {
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

test('--json warns of a deployment that is only partly updated, and still reports its night', async () => {
  const parts = fleet([{ name: 'one', published: all(NIGHT), trouble: 'rolling back' }]);

  const { stdout } = await statusOfAll(parts, '--json');

  const [{ ok, warnings }] = JSON.parse(stdout).deployments;
  expect(ok).toBe(true);
  expect(warnings).toContainEqual(expect.stringContaining('UPDATE_ROLLBACK_FAILED'));
});
