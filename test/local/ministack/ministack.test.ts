import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startMinistack } from '../../../local/ministack/ministack.ts';
import { freePort } from '../../../local/ministack/ports.ts';
import { ensureMinistack, type MinistackCommand } from '../../../local/ministack/python.ts';
import { runningProcesses } from '../../../local/processes/process-table.ts';
import { lastLines } from '../../../local/processes/processes.ts';
import { openRunRecord } from '../../../local/processes/run-record.ts';
import { CACHE, NODE_BIN, script, tempDir, tempRecord } from '../support/support.ts';

let real: MinistackCommand;
beforeAll(async () => {
  const record = await openRunRecord(CACHE);
  real = await ensureMinistack({ record });
  await record.close();
}, 180_000);

async function start(
  options: { port?: number; nodeBin?: string; waitScale?: number } & Partial<MinistackCommand> = {},
) {
  return startMinistack({ ...real, nodeBin: NODE_BIN, record: await tempRecord(), ...options });
}

describe('MiniStack', () => {
  test('starts on loopback, answers, takes settings and orders, and stops without a trace', async () => {
    const before = await readdir(homedir());
    const ministack = await start({ waitScale: 0 });
    expect(ministack.endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const listed = await fetch(`${ministack.endpoint}/_ministack/ready`);
    expect(listed.ok).toBe(true);
    await ministack.configure({ 'stepfunctions._SFN_WAIT_SCALE': 0.5 });
    await expect(ministack.configure({ 'nothing.known': 1 })).rejects.toThrow('nothing.known');
    await ministack.reset();
    await ministack.stop();
    expect(runningProcesses().filter(({ group }) => group === ministack.pid)).toEqual([]);
    await expect(fetch(ministack.endpoint)).rejects.toThrow();
    expect(await readdir(homedir())).toEqual(before);
  });

  test('gives its clients an environment without anything of the user', async () => {
    const { env, endpoint, stop } = await start();
    onTestFinished(stop);
    expect(env).toMatchObject({ AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3: endpoint });
    expect(env).toMatchObject({ AWS_ACCESS_KEY_ID: '000000000000', AWS_REGION: 'us-east-1' });
    expect(Object.keys(env)).not.toContain('AWS_PROFILE');
    expect(env.HOME).not.toBe(homedir());
    expect(env.CDK_HOME).toMatch(/runs/);
  });

  test('takes another port when the wanted one is taken, even by another MiniStack', async () => {
    const other = createServer((_request, response) => response.end('{"edition":"light"}'));
    const port = await freePort();
    await new Promise<void>((resolve) => other.listen(port, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const ministack = await start({ port });
    expect(ministack.endpoint).not.toContain(`:${port}`);
    await ministack.stop();
    const wanted = await freePort();
    expect((await start({ port: wanted })).endpoint).toContain(`:${wanted}`);
  });

  test('that does not start is reported with its log', async () => {
    const error = await start({ command: 'sh', args: ['-c', 'echo broken; exit 3'] }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toMatchObject({ name: 'EnvironmentError', message: expect.stringContaining('did not start') });
    expect(error).toMatchObject({ logFile: expect.stringContaining('.log') });
    const { logFile } = error instanceof Object && 'logFile' in error ? error : { logFile: '' };
    expect(await lastLines(String(logFile), 1)).toEqual(['broken']);
  });

  test('refuses a Node other than 24', async () => {
    const nodeBin = await tempDir();
    await expect(start({ nodeBin })).rejects.toThrow(/no Node 24 in/);
    await script(join(nodeBin, 'node'), 'echo v20.1.0');
    await expect(start({ nodeBin })).rejects.toThrow(/need Node 24, but .* has v20\.1\.0/);
  });
});
