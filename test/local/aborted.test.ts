import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { run } from './support/running.ts';

test('what waits for Ctrl-C stays up until it comes, also with nothing of its own running', async () => {
  const { child, ended, says, stdout, stderr } = run('test/local/fixtures/waiting.ts', []);
  await says(/waiting/);
  await Promise.race([ended, sleep(500)]);
  expect([child.exitCode, stderr()]).toEqual([null, '']);
  child.kill('SIGINT');
  expect([await ended, stdout()]).toEqual([0, 'waiting\ndone\n']);
});

test('what waits for Ctrl-C ends by itself when the local cloud does', async () => {
  const { child, ended, says, stdout } = run('test/local/fixtures/waiting.ts', []);
  await says(/waiting/);
  child.kill('SIGUSR2');
  expect([await ended, stdout()]).toEqual([0, 'waiting\nthe local cloud ended\n']);
});
