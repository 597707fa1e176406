import { expect, test, vi } from 'vitest';
import { chooseDeployment } from '../../cli/deployment-choice.ts';
import { aws } from './support/cloud/cloud.ts';
import { runCli } from './support/run-cli.ts';

const configured = ['example', 'local', 'prod'];

test('CRM_EXPORT_DEPLOYMENT names the deployment, before any file in config/', () => {
  expect(chooseDeployment(undefined, { CRM_EXPORT_DEPLOYMENT: 'stage' }, configured)).toEqual({
    name: 'stage',
    from: 'CRM_EXPORT_DEPLOYMENT',
  });
});

test('with an endpoint on loopback, the deployment is "local"', () => {
  for (const endpoint of ['http://127.0.0.1:4566', 'http://localhost:4566']) {
    expect(chooseDeployment(endpoint, {}, configured)?.name).toBe('local');
  }
  expect(chooseDeployment('https://states.example', {}, configured)?.name).toBe('prod');
});

test('the only configuration besides example and local is chosen; with two there is no choice', () => {
  const from = 'the only one in test/support/config/';
  expect(chooseDeployment(undefined, {}, configured)).toEqual({ name: 'prod', from });
  expect(chooseDeployment(undefined, {}, [...configured, 'stage'])).toBeUndefined();
  expect(chooseDeployment(undefined, {}, ['example', 'local'])).toBeUndefined();
});

test('a chosen deployment is printed on standard error, and --deployment overrides it', async () => {
  const { endpoint } = await aws();
  vi.stubEnv('CRM_EXPORT_DEPLOYMENT', 'test');
  const place = ['--endpoint-url', endpoint, '--json'];
  const chosen = await runCli('list', ...place);
  expect(chosen).toMatchObject({ code: 0, stdout: '{"runs":[]}\n' });
  expect(chosen.stderr).toMatch(/^Deployment test \(CRM_EXPORT_DEPLOYMENT\)\.\n/);
  expect((await runCli('list', '--deployment', 'other', ...place)).stderr).not.toContain('CRM_EXPORT_DEPLOYMENT');
});

test('without a deployment, the error names the ways to name one, and init if there is none', async () => {
  const { code, stderr } = await runCli('list');
  expect(code).toBe(2);
  expect(stderr).toMatch(/with --deployment or CRM_EXPORT_DEPLOYMENT; to write the configuration of one: \S.* init\n/);
});

test('--version prints the version of the package', async () => {
  const { default: manifest } = await import('../../package.json', { with: { type: 'json' } });
  expect(await runCli('--version')).toMatchObject({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
});
