import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EnvironmentError } from '../../../local/processes/environment-error.ts';
import { fromPs, runningProcesses } from '../../../local/processes/process-table.ts';
import { lastLines, runCommand, startProcess } from '../../../local/processes/processes.ts';
import { eventually, isAlive, tempRecord } from '../support/support.ts';

async function shell(code: string) {
  const record = await tempRecord();
  const logFile = join(record.workDir, 'shell.log');
  const env = { PATH: process.env.PATH };
  return { name: 'shell', command: 'sh', args: ['-c', code], env, cwd: record.workDir, logFile, record };
}

const firstNumber = async (logFile: string) => Number((await lastLines(logFile, 1))[0]);

test('a command runs to its end; its output is seen line by line and kept', async () => {
  const seen: string[] = [];
  const options = await shell('echo one; echo two >&2; printf three; exit 4');
  const result = await runCommand({ ...options, onLine: (line) => seen.push(line) });
  expect(result).toMatchObject({ code: 4, signal: null });
  // Output and errors are two streams: each has its own order.
  expect(result.lines.filter((line) => line !== 'two')).toEqual(['one', 'three']);
  expect(result.lines).toHaveLength(3);
  expect(seen).toEqual(result.lines);
  expect((await readFile(options.logFile, 'utf8')).replace('two\n', '')).toBe('one\nthree');
  const again = await runCommand({ ...options, args: ['-c', 'echo four'] });
  expect(again.lines).toEqual(['four']);
});

test('a command that is aborted ends with all that it started, and throws the reason', async () => {
  const options = await shell('sleep 1000 & echo $!; wait');
  const abort = new AbortController();
  const onLine = () => abort.abort(new Error('enough'));
  await expect(runCommand({ ...options, onLine, signal: abort.signal })).rejects.toThrow('enough');
  expect(isAlive(await firstNumber(options.logFile))).toBe(false);
  await expect(runCommand({ ...options, signal: abort.signal })).rejects.toThrow('enough');
});

test('a command that does not exist is a matter of the environment', async () => {
  const options = { ...(await shell('')), command: '/nowhere/at-all' };
  await expect(startProcess(options)).rejects.toThrow(EnvironmentError);
  await expect(startProcess(options)).rejects.toThrow('/nowhere/at-all');
});

test('members of the group are ended though their leader is gone', async () => {
  const options = await shell('sleep 1000 & echo $!');
  const running = await startProcess(options);
  await running.exited;
  const left = await firstNumber(options.logFile);
  expect(isAlive(left)).toBe(true);
  await running.stop();
  expect(isAlive(left)).toBe(false);
});

test('a process that ignores SIGTERM is killed after the grace', async () => {
  const options = await shell('trap "" TERM; echo ready; while :; do sleep 1; done');
  const running = await startProcess(options);
  await eventually(async () => (await lastLines(options.logFile, 1))[0] === 'ready');
  await Promise.all([running.stop(), running.stop()]);
  expect(isAlive(running.pid)).toBe(false);
  expect((await running.exited).signal).toBe('SIGKILL');
});

test('ps and /proc name the same processes', () => {
  const me = ({ pid, group }: { pid: number; group: number }) => ({ pid, group });
  const mine = runningProcesses()
    .map(me)
    .find(({ pid }) => pid === process.pid);
  expect(fromPs().map(me)).toContainEqual(mine);
  expect(fromPs().find(({ pid }) => pid === process.pid)?.startedAt).toMatch(/\d\d:\d\d:\d\d \d{4}$/);
});
