import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL_CHECKS, verify } from '../../cli/health/verify.ts';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';

/** Runs all of `verify`, with a rule that fires at the next full minute. test/e2e tests its other parts. */

let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('verify-rule', {}, { rows: 3, jobChecks: 1 });
});
afterAll(() => system?.close());

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
