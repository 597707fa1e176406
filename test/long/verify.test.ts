import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL_CHECKS } from '../../cli/verify/all-checks.ts';
import { verify } from '../../cli/verify/verify.ts';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';

/** Rules fire at full minutes, here as on AWS: the rest of `verify` is in test/e2e. */

let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('verify-rule', {}, { rows: 3, jobChecks: 1 });
}, 120_000);
afterAll(() => system?.close());

test('a temporary rule with the role of the nightly rules starts a run, and is gone', async () => {
  const { signal } = new AbortController();
  const checks = ALL_CHECKS.filter(({ id }) => id === 'rule-start');
  const pace = { everyMs: 1000, patienceMs: 150_000, runMs: 60_000 };

  const verified = await verify(system.target, { entity: 'leads', signal, checks, pace });

  expect(verified.runs).toHaveLength(1);
  expect(verified.checks).toMatchObject([
    { id: 'rule-start', verdict: 'holds', found: expect.stringContaining(`started ${verified.runs[0]}`) },
    { id: 'left-overs', verdict: 'holds', found: 'nothing temporary is left' },
  ]);
});
