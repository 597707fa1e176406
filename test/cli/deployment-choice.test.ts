import { expect, test, vi } from 'vitest';
import { chooseDeployment } from '../../cli/deployment-choice.ts';
import { expectTexts } from '../support/screen.ts';
import { aws } from './support/cloud/cloud.ts';
import { runCli } from './support/run-cli.ts';

const configured = ['example', 'local', 'prod'];

test('CRM_EXPORT_DEPLOYMENT names the deployment, before any file in config/', () => {
  expect(chooseDeployment(undefined, { CRM_EXPORT_DEPLOYMENT: 'stage' }, configured)?.name).toBe('stage');
});

test('with an endpoint on loopback, the deployment is "local"', () => {
  for (const endpoint of ['http://127.0.0.1:4566', 'http://localhost:4566']) {
    expect(chooseDeployment(endpoint, {}, configured)?.name).toBe('local');
  }
  expect(chooseDeployment('https://states.example', {}, configured)?.name).toBe('prod');
});

test('the only configuration besides example and local is chosen; with two there is no choice', () => {
  expect(chooseDeployment(undefined, {}, configured)?.name).toBe('prod');
  expect(chooseDeployment(undefined, {}, [...configured, 'stage'])).toBeUndefined();
  expect(chooseDeployment(undefined, {}, ['example', 'local'])).toBeUndefined();
});

test('a chosen deployment is printed on standard error, and --deployment overrides it; without one, init helps', async () => {
  const { endpoint } = await aws();
  const none = await runCli('list');
  vi.stubEnv('CRM_EXPORT_DEPLOYMENT', 'test');
  const place = ['--endpoint-url', endpoint, '--json'];
  const chosen = await runCli('list', ...place);
  expect(chosen).toMatchObject({ code: 0, stdout: '{"runs":[]}\n' });
  expect((await runCli('list', '--deployment', 'other', ...place)).stderr).not.toContain('CRM_EXPORT_DEPLOYMENT');
  await expectTexts('deployment-choice', [
    ['CRM_EXPORT_DEPLOYMENT names it', chosen.stderr],
    ['the only configuration is its reason', chooseDeployment(undefined, {}, configured)?.from ?? ''],
    ['no configuration', none.stderr],
  ]);
  expect(none.code).toBe(2);
});

test.each(['/nowhere', import.meta.filename])('says that CRM_EXPORT_CONFIG is not a folder: %s', async (folder) => {
  vi.stubEnv('CRM_EXPORT_CONFIG', folder);
  const error = expect.stringMatching(`^ConfigInvalid: there is no folder .*: create it, or .* in CRM_EXPORT_CONFIG$`);
  const { code, stderr } = await runCli('list');
  expect({ code, stderr: stderr.trim() }).toEqual({ code: 2, stderr: error });
});

test('--version prints the version of the package', async () => {
  const { default: manifest } = await import('../../package.json', { with: { type: 'json' } });
  expect(await runCli('--version')).toMatchObject({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
});
