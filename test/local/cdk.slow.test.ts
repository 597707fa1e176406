import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CreateFunctionCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { synthesise } from '../../local/cdk.ts';
import { type Ministack, startMinistack } from '../../local/ministack/ministack.ts';
import { clientEnvironment } from '../../local/ministack/ministack-environment.ts';
import { ensureMinistack } from '../../local/ministack/python.ts';
import { EnvironmentError } from '../../local/processes/environment-error.ts';
import { hasMark, runningProcesses } from '../../local/processes/process-table.ts';
import { openRunRecord, type RunRecord } from '../../local/processes/run-record.ts';
import { zipWith } from '../support/zip.ts';
import { ECHO } from './fixtures/echo.ts';
import { CACHE, eventually, invoke, isAlive, NODE_BIN, tempRecord } from './support/support.ts';

const APP = join(import.meta.dirname, 'fixtures', 'tiny-app.ts');
const answer = z.object({ pid: z.number() });

let record: RunRecord;

beforeAll(async () => {
  record = await openRunRecord(CACHE);
});
afterAll(() => record.close());

/** Commands for a cloud that is not there: none of them comes to it. */
function commands() {
  const { workDir: dir, tmpDir } = record;
  const env = clientEnvironment({ dir, tmpDir, nodeBin: NODE_BIN, endpoint: 'http://127.0.0.1:9' });
  return { record, env, logFile: join(dir, 'cdk.log'), outputDir: join(dir, 'cdk.out') };
}

describe('the CDK CLI', () => {
  test('a configuration that the app refuses is the user’s to mend', async () => {
    await expect(synthesise({ ...commands(), app: APP, context: { word: 'wrong' } })).rejects.toMatchObject({
      name: 'ConfigurationError',
      message: 'ConfigInvalid: config/wrong.json: "word" is wrong',
    });
  });

  test('an app that fails is a matter of the environment', async () => {
    const app = join(import.meta.dirname, 'fixtures', 'broken-app.ts');
    const error = await synthesise({ ...commands(), app, context: {} }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(EnvironmentError);
    expect(await readFile(commands().logFile, 'utf8')).toContain('broken app');
  });

  test('an app that hangs is given up', async () => {
    const app = join(import.meta.dirname, 'fixtures', 'hanging-app.ts');
    await expect(synthesise({ ...commands(), app, context: {}, withinSeconds: 1 })).rejects.toThrow(/within 1 seconds/);
  });
});

/** The function of the tiny app, without the stack. */
async function createEcho(ministack: Ministack): Promise<void> {
  const { AWS_ACCESS_KEY_ID: accessKeyId = '', AWS_SECRET_ACCESS_KEY: secretAccessKey = '' } = ministack.env;
  const credentials = { accessKeyId, secretAccessKey };
  const lambda = new LambdaClient({ endpoint: ministack.endpoint, region: 'us-east-1', credentials });
  await lambda.send(
    new CreateFunctionCommand({
      FunctionName: 'Echo',
      Runtime: 'nodejs24.x',
      Handler: 'index.handler',
      Role: 'arn:aws:iam::000000000000:role/echo',
      Environment: { Variables: { WORD: 'busy' } },
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
    const own = await tempRecord(CACHE);
    const command = await ensureMinistack({ record: own });
    const ministack = await startMinistack({ ...command, record: own, nodeBin: NODE_BIN });
    await createEcho(ministack);
    const { pid } = answer.parse(await invoke(ministack, 'Echo'));
    const hang = join(own.tmpDir, 'busy');
    const running = invoke(ministack, 'Echo', { hang }).catch(() => 'cut off');
    await eventually(() => existsSync(hang));
    expect(isAlive(pid)).toBe(true);

    if (signal !== undefined) process.kill(ministack.pid, signal);
    await ministack.stop();

    expect(isAlive(pid)).toBe(false);
    expect(runningProcesses().filter((entry) => hasMark(entry.pid, own.id))).toEqual([]);
    await running;
  });
});
