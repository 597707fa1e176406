import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type CdkOptions, cdkDeploy } from '../../local/cdk.ts';
import { clientEnvironment } from '../../local/ministack/ministack-environment.ts';
import { DEAD_ADDRESS } from '../support/http-server.ts';
import { NODE_BIN, tempDir, tempRecord } from '../support/project.ts';

/** Deploys where no cloud is. */
async function deployment(options: Partial<CdkOptions>) {
  const record = await tempRecord();
  const { workDir: dir, tmpDir } = record;
  const env = clientEnvironment({ dir, tmpDir, nodeBin: NODE_BIN, endpoint: DEAD_ADDRESS });
  const configuration = join(await tempDir(), 'local.json');
  await writeFile(configuration, '{ "crm": {} }');
  const context = { deployment: 'local', configuration };
  const all = { record, env, context, outputDir: join(dir, 'cdk.out'), withinSeconds: 60, ...options };
  return cdkDeploy(all).catch((reason: unknown) => reason);
}

test('reports an app that refuses its configuration, and a deployment that fails or hangs', async () => {
  expect(await deployment({})).toMatchObject({
    name: 'ConfigInvalid',
    message: expect.stringMatching(/^[^:]+local\.json: crm\.baseUrl: .*\n.*crm\.authUrl: /),
  });
  const failed = await deployment({ outputDir: '/dev/null/cdk.out' });
  expect(failed).toMatchObject({ name: 'EnvironmentError', message: expect.stringMatching(/deployed/) });
  const hung = await deployment({ withinSeconds: 0.1 });
  expect(hung).toMatchObject({ name: 'EnvironmentError', message: expect.stringMatching(/within 0\.1 seconds/) });
});
