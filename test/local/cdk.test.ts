import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateFunctionCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { cdkBootstrap, cdkDeploy, cdkDestroy, type SynthOptions, synthesise } from '../../local/cdk.ts';
import { type Ministack, startMinistack } from '../../local/ministack/ministack.ts';
import { ensureMinistack } from '../../local/ministack/python.ts';
import { EnvironmentError } from '../../local/processes/environment-error.ts';
import { hasMark, runningProcesses } from '../../local/processes/process-table.ts';
import { openRunRecord, type RunRecord } from '../../local/processes/run-record.ts';
import { zipWith } from '../support/zip.ts';
import { ECHO } from './fixtures/echo.ts';
import { CACHE, eventually, invoke, isAlive, NODE_BIN, PROJECT } from './support/support.ts';

const APP = join(import.meta.dirname, 'fixtures', 'tiny-app.ts');
const answer = z.object({ node: z.string(), pid: z.number(), word: z.string(), main: z.string() });

type Cloud = { record: RunRecord; ministack: Ministack };
let cloud: Cloud;

async function startCloud(): Promise<Cloud> {
  const record = await openRunRecord(CACHE);
  const command = await ensureMinistack({ record });
  return { record, ministack: await startMinistack({ ...command, record, nodeBin: NODE_BIN }) };
}

beforeAll(async () => {
  cloud = await startCloud();
  await cdkBootstrap(common(cloud));
}, 180_000);
afterAll(() => cloud.record.close());

function common({ record, ministack }: Cloud) {
  return { record, env: ministack.env, logFile: join(record.workDir, 'cdk.log') };
}

function assembly(at: Cloud, context: Record<string, string>, more: Partial<SynthOptions> = {}) {
  return { ...common(at), app: APP, context, outputDir: join(at.record.workDir, 'cdk.out'), ...more };
}

async function deploy(at: Cloud, context: Record<string, string>, more: Partial<SynthOptions> = {}) {
  const options = assembly(at, context, more);
  await synthesise(options);
  return cdkDeploy(options);
}

describe('the CDK CLI and MiniStack', () => {
  test('deploy a stack whose function runs on Node 24, and destroy it', async () => {
    const lines: string[] = [];
    const outputDir = join(cloud.record.workDir, 'whole');
    const outputs = await deploy(cloud, { word: 'hello' }, { outputDir, onLine: (line) => lines.push(line) });
    expect(outputs.QueueUrl).toContain('Tiny-Queue');
    expect(lines.some((line) => line.includes('CREATE_COMPLETE'))).toBe(true);
    const said = answer.parse(await invoke(cloud.ministack, outputs.EchoName ?? ''));
    expect(said).toMatchObject({ node: expect.stringMatching(/^v24\./), word: 'hello' });
    // Nothing of the project is within the function's reach.
    expect(said.main).not.toContain(PROJECT);
    await cdkDestroy({ ...common(cloud), outputDir });
    expect(await invoke(cloud.ministack, outputs.EchoName ?? '')).not.toHaveProperty('node');
  });

  test('a configuration that the app refuses is the user’s to mend', async () => {
    await expect(synthesise(assembly(cloud, { word: 'wrong' }))).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: 'ConfigInvalid: config/wrong.json: "word" is wrong',
    });
  });

  test('an app that fails is a matter of the environment', async () => {
    const app = join(import.meta.dirname, 'fixtures', 'broken-app.ts');
    const error = await synthesise(assembly(cloud, {}, { app })).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(await readFile(join(cloud.record.workDir, 'cdk.log'), 'utf8')).toContain('broken app');
  });

  test('a deployment that fails is a matter of the environment', async () => {
    const outputDir = join(cloud.record.workDir, 'none');
    await expect(cdkDeploy({ ...common(cloud), outputDir })).rejects.toBeInstanceOf(EnvironmentError);
  });

  test('an app that hangs is given up', async () => {
    const app = join(import.meta.dirname, 'fixtures', 'hanging-app.ts');
    await expect(synthesise(assembly(cloud, {}, { app, withinSeconds: 1 }))).rejects.toThrow(/within 1 seconds/);
  });
});

/** The function of the tiny app, without the stack. */
async function createEcho({ ministack }: Cloud): Promise<void> {
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = ministack.env;
  const credentials = { accessKeyId, secretAccessKey };
  const lambda = new LambdaClient({ endpoint: ministack.endpoint, region: 'us-east-1', credentials });
  await lambda.send(
    new CreateFunctionCommand({
      ...{ FunctionName: 'Echo', Runtime: 'nodejs24.x', Handler: 'index.handler' },
      ...{ Role: 'arn:aws:iam::000000000000:role/echo', Environment: { Variables: { WORD: 'busy' } } },
      Code: { ZipFile: zipWith('index.js', ECHO) },
    }),
  );
  lambda.destroy();
}

describe('functions’ processes, busy at the time, end with MiniStack', () => {
  test.each([
    { when: 'it is stopped', signal: undefined },
    { when: 'it was killed before it is stopped', signal: 'SIGKILL' },
  ])('when $when', async ({ signal }) => {
    const own = await startCloud();
    onTestFinished(() => own.record.close());
    await createEcho(own);
    const { pid } = answer.parse(await invoke(own.ministack, 'Echo'));
    const hang = join(own.record.tmpDir, 'busy');
    const running = invoke(own.ministack, 'Echo', { hang }).catch(() => 'cut off');
    await eventually(() => existsSync(hang));
    expect(isAlive(pid)).toBe(true);

    if (signal !== undefined) process.kill(own.ministack.pid, signal);
    await own.ministack.stop();

    expect(isAlive(pid)).toBe(false);
    expect(runningProcesses().filter((entry) => hasMark(entry.pid, own.record.id))).toEqual([]);
    await running;
  });
});
