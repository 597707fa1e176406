import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { nightlyPlan } from '../../cli/schedule/nightly-plan.ts';
import { ConfigurationError } from '../../core/config/configuration.ts';
import { tempDir } from '../local/support/support.ts';
import { aws } from './support/cloud/cloud.ts';
import { executions } from './support/cloud/executions.ts';
import { stack } from './support/cloud/stack.ts';
import { runCli } from './support/run-cli.ts';

/** The shell function of `completion` runs the command from wherever a person is. */

const start = '2026-11-20T22:30:00.000Z';
const late = { name: 'rule-1', status: 'FAILED', error: 'X', input: { entity: 'leads' }, start, stop: start };

test('the configuration is found from any directory', async () => {
  const { endpoint } = await aws(executions([late]));
  const program = resolve(import.meta.dirname, '../../cli/main.js');
  const args = ['list', '--deployment', 'example', '--endpoint-url', endpoint, '--since', '2026-11-01', '--json'];
  const place = { cwd: await tempDir(), env: { ...process.env, AWS_ENDPOINT_URL: undefined } };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args], place);
  // The date is that of Asia/Jerusalem, as config/example.json says.
  expect(JSON.parse(stdout).runs).toMatchObject([{ date: '2026-11-21' }]);
  expect(stderr).toBe('');
});

test('where there is no configuration the defaults hold, and that is said', async () => {
  const { endpoint } = await aws(executions([late]));
  const place = ['--deployment', 'nowhere', '--endpoint-url', endpoint];
  const { code, stdout, stderr } = await runCli('list', ...place, '--since', '2026-11-01', '--json');
  expect([code, JSON.parse(stdout).runs]).toMatchObject([0, [{ date: '2026-11-20' }]]);
  expect(stderr).toMatch(/^There is no config\/nowhere\.json: dates are taken to be in UTC, nights .* 01:00 UTC\./);
  const page = await runCli('report', ...place, '--output', '-');
  expect(page.stderr).toContain('There is no config/nowhere.json');
  expect(page.stdout).toMatch(/<p class="warning">There is no config\/nowhere\.json: dates are taken/);
});

test('the dates of a report are those of the zone that is deployed, whatever the file or its lack says', async () => {
  const { endpoint } = await aws(stack({ TimeZone: 'Asia/Jerusalem' }), executions([late]));
  const place = ['--deployment', 'nowhere', '--endpoint-url', endpoint];
  const page = await runCli('report', ...place, '--output', '-');
  expect(page.stderr).toMatch(/^There is no config\/nowhere\.json: nights are taken to begin at 01:00 UTC\./);
  expect(page.stdout).toContain('Asia/Jerusalem');
});

test('a configuration with a mistake is refused, not passed over', async () => {
  const file = join(await tempDir(), 'wrong.json');
  await writeFile(file, '{"timeZone":"Mars/Base"}');
  expect(() => nightlyPlan({ deployment: 'x', configuration: file }, () => undefined)).toThrow(ConfigurationError);
  // Valid for a local cloud alone.
  const inAnAccount = { deployment: 'local', endpointUrl: 'https://states.us-east-1.amazonaws.com' };
  expect(() => nightlyPlan(inAnAccount, () => undefined)).toThrow(ConfigurationError);
});
