import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { tempDir } from '../support/project.ts';
import { refused } from './support/cloud/answers.ts';
import { aws } from './support/cloud/cloud.ts';
import { executions } from './support/cloud/executions.ts';
import { configured, stack } from './support/cloud/stack.ts';
import { runCli } from './support/run-cli.ts';

/** The shell function of `completion` runs the command from any folder. */

const start = '2026-11-20T22:30:00.000Z';
const late = { name: 'rule-1', status: 'FAILED', error: 'X', input: { entity: 'leads' }, start, stop: start };

test('the configuration is found from any directory', async () => {
  const program = resolve(import.meta.dirname, '../../cli/main.js');
  const place = { cwd: await tempDir() };
  const { stdout } = await promisify(execFile)(process.execPath, [program, 'plan', '--deployment', 'example'], place);
  expect(stdout).toContain(' in Asia/Jerusalem, kind: ');
});

test('outside the checkout, the command says where it looks for deployments', async () => {
  const program = resolve(import.meta.dirname, '../../cli/main.js');
  const { PATH, CRM_EXPORT_CONFIG: folder } = process.env;
  const place = { cwd: await tempDir(), env: { PATH, CRM_EXPORT_CONFIG: folder } };
  const ended = promisify(execFile)(process.execPath, [program, 'plan', '--deployment', 'nope'], place);

  await expect(ended).rejects.toMatchObject({
    stderr: expect.stringContaining(`${folder}/nope.json does not exist; there are example`),
  });
});

test('without any file, report and list use the time zone of the deployed stack', async () => {
  const zone = { timeZone: 'Asia/Jerusalem' };
  const { endpoint } = await aws(configured(zone), stack({ TimeZone: zone.timeZone }), executions([late]));
  const place = ['--deployment', 'nowhere', '--endpoint-url', endpoint];
  const page = await runCli('report', ...place, '--output', '-');
  expect(page.stdout).toContain('Asia/Jerusalem');
  const { stdout, stderr } = await runCli('list', ...place, '--since', '2026-11-01', '--json');
  expect(JSON.parse(stdout).runs).toMatchObject([{ date: '2026-11-21' }]);
  expect(stderr).toBe('');
  expect(page.stderr).toMatch(/^Whether the grant can be used is unknown: .*\n$/);
});

test('report prints the commands in a warning with the options of the deployment', async () => {
  const noGrant = { GetSecretValue: refused('ResourceNotFoundException') };
  const { cli, endpoint } = await aws(noGrant, configured({}), stack(), executions([late]));

  const { stdout, stderr } = await cli('report', '--output', '-');

  for (const text of [stdout, stderr])
    expect(text).toContain(` crm-export authorize --endpoint-url ${endpoint} --deployment test)`);
});
