import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { sandboxFor } from './client.ts';

function run(...args: string[]) {
  const child: ChildProcess = spawn(process.execPath, ['sandbox/serve.ts', ...args], { stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const told = { out: '', err: '' };
  child.stdout?.on('data', (text) => {
    told.out += text;
  });
  child.stderr?.on('data', (text) => {
    told.err += text;
  });
  return { child, told };
}

test.each([
  [['--prot', '1'], 'unknown option'],
  [['--rows', 'many'], 'whole number'],
  [['--port', '70000'], '65535'],
])('%j ends with one sentence and exit code 2', async (args, sentence) => {
  const { child, told } = run(...args);
  expect(await once(child, 'close')).toEqual([2, null]);
  expect(told.err).toContain(sentence);
  expect(told.err).not.toContain('    at ');
});

test('a taken port ends with one sentence and exit code 3', async () => {
  const { child, told } = run('--port', new URL((await sandboxFor()).url).port);
  expect(await once(child, 'close')).toEqual([3, null]);
  expect(told.err).toMatch(/^The port is taken .*\n$/);
});

test('it says where it listens and how to drive it, and stops on SIGTERM', async () => {
  const { child, told } = run('--port', '0', '--client-id', 'me', '--client-secret', 'demo', '--job-seconds', '2');
  if (child.stdout) await once(child.stdout, 'data');
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(told.out)?.[0] ?? '';
  for (const part of [`${url}/api/v1`, `${url}/auth`, 'client id      me', 'demo', `${url}/_sandbox/faults --json`]) {
    expect(told.out).toContain(part);
  }
  expect((await fetch(`${url}/_sandbox/health`)).status).toBe(200);
  child.kill('SIGTERM');
  expect(await once(child, 'close')).toEqual([0, null]);
});
