import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CreateAliasCommand,
  CreateFunctionCommand,
  InvokeCommand,
  type InvokeCommandInput,
  LambdaClient,
  ListVersionsByFunctionCommand,
  PublishVersionCommand,
  UpdateFunctionCodeCommand,
} from '@aws-sdk/client-lambda';
import { expect, onTestFinished, test } from 'vitest';
import { type CdkOptions, cdkDeploy, endVersions } from '../../local/cdk.ts';
import { startMinistack } from '../../local/ministack/ministack.ts';
import { clientEnvironment } from '../../local/ministack/ministack-environment.ts';
import { ensureMinistack } from '../../local/ministack/python.ts';
import { DEAD_ADDRESS } from '../support/http-server.ts';
import { CACHE, eventually, NODE_BIN, runningProcesses, tempDir, tempRecord } from '../support/project.ts';
import { zipWith } from '../support/zip.ts';

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

const BUSY = `exports.handler = async ({ file }) => {
  if (!file) return 1;
  require('node:fs').writeFileSync(file, '');
  await new Promise((resolve) => setTimeout(resolve, 100_000));
};`;

test('ends functions of published versions before a deployment, and all with MiniStack, even if it was killed', async () => {
  const record = await tempRecord(CACHE);
  const ministack = await startMinistack({ ...(await ensureMinistack({ record })), record, nodeBin: NODE_BIN });
  const credentials = { accessKeyId: '000000000000', secretAccessKey: 'local' };
  const lambda = new LambdaClient({ endpoint: ministack.endpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
  onTestFinished(() => lambda.destroy());
  const functionOf = (text: string) => zipWith('index.js', text);
  const invoke = async (call: Pick<InvokeCommandInput, 'FunctionName' | 'Qualifier'>, event = {}) => {
    const { Payload } = await lambda.send(new InvokeCommand({ ...call, Payload: JSON.stringify(event) }));
    return Payload?.transformToString();
  };
  const versionsOf = async (FunctionName: string) =>
    (await lambda.send(new ListVersionsByFunctionCommand({ FunctionName }))).Versions?.map(({ Version }) => Version);
  for (const FunctionName of ['crm-export-local-Once', 'another-Once']) {
    const Role = 'arn:aws:iam::000000000000:role/once';
    const common = { Runtime: 'nodejs24.x', Handler: 'index.handler', Role } as const;
    await lambda.send(new CreateFunctionCommand({ FunctionName, ...common, Code: { ZipFile: functionOf(BUSY) } }));
    for (const source of ['2', '3']) {
      const { Version: Qualifier } = await lambda.send(new PublishVersionCommand({ FunctionName }));
      await invoke({ FunctionName, Qualifier });
      const ZipFile = functionOf(`exports.handler = async () => ${source};`);
      await lambda.send(new UpdateFunctionCodeCommand({ FunctionName, ZipFile }));
    }
  }
  const workers = () => runningProcesses().filter(({ group }) => group === ministack.pid);
  const FunctionName = 'crm-export-local-Once';
  await lambda.send(new CreateAliasCommand({ FunctionName, Name: 'live', FunctionVersion: '2' }));
  const before = workers().length;

  await endVersions(ministack.endpoint, 'crm-export-local');

  expect(await versionsOf(FunctionName)).toEqual(['$LATEST']);
  expect(await versionsOf('another-Once')).toEqual(['$LATEST', '1', '2']);
  await eventually(() => workers().length === before - 2);
  expect(await invoke({ FunctionName, Qualifier: 'live' })).toBe('3');

  const file = join(record.tmpDir, 'busy');
  const busy = invoke({ FunctionName: 'another-Once', Qualifier: '1' }, { file }).catch(() => undefined);
  await eventually(() => existsSync(file));
  process.kill(ministack.pid, 'SIGKILL');
  await ministack.stop();

  await eventually(() => workers().length === 0);
  await busy;
});
