import { afterAll, beforeAll, expect, test } from 'vitest';
import { switchRule } from '../../cli/night/pause.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { type Deployed, deployForTests, halfADayFromNow } from '../e2e/support/deployed.ts';

/**
 * Tests three deployments of one account, as a group of agencies has them. The cloud may also have other deployments.
 */

const NAMES = ['agency-good', 'agency-failed', 'agency-paused'];
const systems: Deployed[] = [];
let place: string[] = [];

beforeAll(async () => {
  // Two or three hours from that in Jerusalem.
  const nightly = { at: halfADayFromNow() };
  for (const name of NAMES) {
    systems.push(await deployForTests(name, { timeZone: 'Asia/Jerusalem', nightly }, { rows: 3 }));
  }
  const [good, failed, paused] = systems;
  place = good?.place.slice(2) ?? [];
  failed?.sandbox.faults.add({ path: 'status', entity: 'leads', status: 'FAILED' });
  await Promise.all([good?.run('leads'), failed?.run('leads')]);
  for (const entity of ['leads', 'meetings'] as const) {
    if (paused) await switchRule(paused.target, entity, 'DISABLED');
  }
}, 120_000);
afterAll(async () => {
  for (const system of systems) await system.close();
});

test('status --all-deployments --json has an entry for each deployment with its entities', async () => {
  const { code, stdout, stderr } = await runCli('status', '--all-deployments', ...place, '--json');

  expect([0, 1, 3], stderr).toContain(code);
  const { deployments } = JSON.parse(stdout);
  const entitiesOf = (name: string) =>
    Object.fromEntries(
      deployments
        .find(({ deployment }: { deployment: string }) => deployment === name)
        .entities.map((row: { entity: string }) => [row.entity, row]),
    );
  expect(entitiesOf('agency-good').leads).toMatchObject({ rule: 'on', readers: { hours: 0 } });
  expect(entitiesOf('agency-failed').leads).toMatchObject({ readers: null });
  expect(entitiesOf('agency-paused')).toMatchObject({
    leads: { rule: 'paused' },
    meetings: { rule: 'paused' },
    customers: { rule: 'on' },
  });
});

test('status --all-deployments prints one line for each deployment', async () => {
  const { stdout } = await runCli('status', '--all-deployments', ...place);

  const names = stdout.split('\n').flatMap((line) => /^. (agency-\w+): /.exec(line)?.[1] ?? []);
  expect(names.toSorted()).toEqual(NAMES.toSorted());
});
