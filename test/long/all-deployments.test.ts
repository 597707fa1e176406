import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { switchRule } from '../../cli/schedule/rules.ts';
import { runCli } from '../cli/support/run-cli.ts';
import { type Deployed, deployForTests, halfADayFromNow } from '../e2e/support/deployed.ts';
import { tempDir } from '../local/support/support.ts';

/** Three deployments of one account, as a group of agencies has them; the cloud of the tests may hold others beside them. */

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

const of = <T extends { deployment: string }>(rows: T[], name: string) =>
  rows.find(({ deployment }) => deployment === name);

test('deployments has a row for each, by what is in the account', async () => {
  const { code, stdout, stderr } = await runCli('deployments', ...place, '--json');

  expect([0, 1, 3], stderr).toContain(code);
  const { deployments } = JSON.parse(stdout);
  expect(of(deployments, 'agency-good')).toMatchObject({
    why: null,
    paused: [],
    oldest: { entity: 'leads', hours: 0 },
  });
  expect(of(deployments, 'agency-good')).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
  expect(of(deployments, 'agency-failed')).toMatchObject({ oldest: null, alarms: expect.any(Array) });
  expect(of(deployments, 'agency-paused')).toMatchObject({ paused: ['leads', 'meetings'] });
});

test('list names the failed run of one of them', async () => {
  const { stdout } = await runCli('list', '--failed', '--all-deployments', ...place, '--json');

  const { deployments } = JSON.parse(stdout);
  expect(of(deployments, 'agency-failed')).toMatchObject({ runs: [{ entity: 'leads', error: 'ExportFailed' }] });
  expect(of(deployments, 'agency-good')).toMatchObject({ runs: [] });
});

test('doctor looks at each by what is deployed', async () => {
  const { stdout } = await runCli('doctor', '--all-deployments', ...place, '--json');

  const { deployments } = JSON.parse(stdout);
  for (const name of NAMES) {
    const checks =
      of<{ deployment: string; checks: { id: string; verdict: string }[] }>(deployments, name)?.checks ?? [];
    const failed = checks.flatMap(({ id, verdict }) => (verdict === 'broken' ? id : []));
    expect(failed, name).toEqual(name === 'agency-paused' ? ['rules'] : []);
    expect(checks).toContainEqual(expect.objectContaining({ id: 'service', verdict: 'holds' }));
  }
});

test('the page has a row for each', async () => {
  const file = join(await tempDir(), 'report.html');
  await runCli('report', '--all-deployments', ...place, '-o', file);

  const page = await readFile(file, 'utf8');
  for (const name of NAMES) expect(page).toContain(`<th scope="row">${name}</th>`);
});
