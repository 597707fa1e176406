import { afterAll, beforeAll, expect, it } from 'vitest';
import { datesBetween } from '../../cli/runs/backfill.ts';
import { WITHOUT_AWS } from '../cli/support/run-cli.ts';
import { type Deployed, deployForTests } from '../e2e/support/deployed.ts';
import { expectWindows, WINDOW } from '../e2e/support/windows.ts';
import { endAll, run } from '../local/support/running.ts';

const FROM = '2026-01-01';
const TO = '2026-03-31';

let system: Deployed;

beforeAll(async () => {
  system = await deployForTests('backfill', { entities: { meetings: WINDOW } }, { rows: 3, jobChecks: 0 });
});

afterAll(async () => {
  await endAll();
  await system?.close();
});

it('backfill publishes each of 90 dates once, with failed runs and a kill in the middle', async () => {
  const options = ['--concurrency', '4', ...system.place];
  const begin = () => run('cli/main.ts', ['backfill', 'meetings', '--from', FROM, '--to', TO, ...options], WITHOUT_AWS);
  // Each run reads the status once; some calls belong to runs that repeat a date.
  system.sandbox.faults.add({ path: 'status', entity: 'meetings', status: 'FAILED', calls: [3, 20, 41, 66, 87] });

  const killed = begin();
  await killed.says(/^2026-02-14: under way/m);
  killed.child.kill('SIGKILL');
  expect(await killed.ended).toBeNull();
  let failures = 0;
  for (;;) {
    const resumed = begin();
    const code = await resumed.ended;
    if (code === 0) break;
    failures += 1;
    expect({ code, often: failures > 5 }, resumed.stderr()).toEqual({ code: 1, often: false });
    expect(resumed.stderr()).toMatch(
      /^\d dates? failed:\n( {2}2026-\S+: ExportFailed \(meetings-backfill-\S+\)\n)+Why, .*\nTo start them again: npx --no -- crm-export backfill meetings /,
    );
  }

  expect(failures).toBeGreaterThan(0);
  const dates = datesBetween(FROM, TO);
  expect(dates).toHaveLength(90);
  await expectWindows(system.target, 'meetings', dates);
});
