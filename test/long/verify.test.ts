import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL_CHECKS, verify } from '../../cli/health/verify.ts';
import { WITHOUT_AWS } from '../cli/support/run-cli.ts';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';
import { endAll, run } from '../support/running.ts';

/** Runs all of `verify`, with a rule that fires at the next full minute. test/e2e tests its other parts. */

let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('verify-rule', {}, { rows: 3, jobChecks: 1 });
});
afterAll(async () => {
  await endAll();
  await system?.close();
});

test('a temporary rule with the role of the nightly rules starts a run, and is removed', async () => {
  const { signal } = new AbortController();
  const checks = ALL_CHECKS.filter(({ id }) => id === 'rule-start');
  const pace = { everyMs: 1000, patienceMs: 150_000, runMs: 150_000 };

  const place = { deployment: 'verify-rule' };
  const verified = await verify(system.target, { place, entity: 'leads', signal, checks, pace });

  expect(verified.runs).toHaveLength(1);
  expect(verified.checks).toMatchObject([
    { id: 'rule-start', verdict: 'holds', found: expect.stringContaining(`started ${verified.runs[0]}`) },
    { id: 'left-overs', verdict: 'holds' },
  ]);
});

test('the command ends with exit code 0 in a local cloud, and lists what is not enforced', async () => {
  const command = run('cli/main.js', ['verify', '--alarm', '--json', ...system.place], WITHOUT_AWS);

  expect(await command.ended, command.stdout()).toBe(0);
  const { ok, checks } = JSON.parse(command.stdout());
  expect(ok).toBe(true);
  const notEnforced = checks.filter(({ found }: { found: string }) => found === 'not enforced by the local cloud');
  const ids = notEnforced.map(({ id }: { id: string }) => id);
  expect(ids).toEqual(['encryption', 'plain-http', 'foreign-key', 'metrics']);

  const list = run('cli/main.js', ['list', '--json', ...system.place], WITHOUT_AWS);
  await list.ended;
  const { runs } = JSON.parse(list.stdout());
  const told = runs.map(({ byVerify, outcome }: { byVerify: boolean; outcome: string }) => [byVerify, outcome]);
  expect(told.filter(([byVerify]: [boolean]) => !byVerify)).toEqual([]);
  expect(new Set(told.map(([, outcome]: [boolean, string]) => outcome))).toEqual(new Set(['published', 'onPurpose']));
});
