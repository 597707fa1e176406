import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { expect, test, vi } from 'vitest';
import { startMinistack } from '../../../local/ministack/ministack.ts';
import { ensureMinistack, type MinistackCommand } from '../../../local/ministack/python.ts';
import { lastLines } from '../../../local/processes/processes.ts';
import { CACHE, eventually, NODE_BIN, runningProcesses, tempDir, tempRecord } from '../../support/project.ts';

async function start(options: Partial<MinistackCommand> = {}) {
  const record = await tempRecord(CACHE);
  const real = await ensureMinistack({ record });
  // Set after the installation: pip asks rustc for its version, and rustc may write to the home folder.
  vi.stubEnv('HOME', await tempDir());
  return startMinistack({ ...real, nodeBin: NODE_BIN, record, ...options });
}

test('MiniStack listens on loopback with its own settings, and leaves no process or file behind', async () => {
  const { endpoint, env, pid, stop } = await start();

  expect(endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(`${endpoint}/_ministack/ready`)).ok).toBe(true);
  expect(env).toMatchObject({ AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3: endpoint });
  expect(env).toMatchObject({ AWS_ACCESS_KEY_ID: '000000000000', AWS_REGION: 'us-east-1' });
  expect(env).not.toHaveProperty('AWS_PROFILE');
  expect(env.HOME).not.toBe(homedir());
  expect(env.CDK_HOME).toMatch(/runs/);

  await stop();
  await eventually(() => runningProcesses().every(({ group }) => group !== pid));
  await expect(fetch(endpoint)).rejects.toThrow();
  expect(await readdir(homedir())).toEqual([]);
});

test('reports a MiniStack that does not start, with its log', async () => {
  const error: unknown = await start({ command: 'sh', args: ['-c', 'echo broken; exit 3'] }).catch((why) => why);
  expect(error).toMatchObject({ name: 'EnvironmentError', message: expect.stringContaining('MiniStack') });
  const { logFile } = error instanceof Object && 'logFile' in error ? error : { logFile: '' };
  expect(await lastLines(String(logFile), 1)).toEqual(['broken']);
});
