import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { lastLines, runCommand, startProcess } from '../../../local/processes/processes.ts';
import { eventually, isAlive, tempRecord } from '../../support/project.ts';

async function shell(code: string) {
  const record = await tempRecord();
  const env = { PATH: process.env.PATH };
  return { name: 'shell', command: 'sh', args: ['-c', code], env, record };
}

test('a command runs to its end, and its output is passed on by line and logged', async () => {
  const seen: string[] = [];
  const options = await shell('echo one; echo two >&2; printf three; exit 4');
  const result = await runCommand({ ...options, onLine: (line) => seen.push(line) });
  expect(result.code).toBe(4);
  expect(result.lines.toSorted()).toEqual(['one', 'three', 'two']);
  expect(seen).toEqual(result.lines);
  expect((await readFile(result.logFile, 'utf8')).replace('two\n', '')).toBe('one\nthree');
});

test('an aborted command ends with its child processes, and throws the reason', async () => {
  const options = await shell('sleep 1000 & echo $!; wait');
  const abort = new AbortController();
  let sleeper = 0;
  const onLine = (line: string) => {
    sleeper = Number(line);
    abort.abort(new Error('enough'));
  };
  await expect(runCommand({ ...options, onLine, signal: abort.signal })).rejects.toThrow('enough');
  expect(sleeper).toBeGreaterThan(0);
  await eventually(() => !isAlive(sleeper));
});

test('a command that does not exist is reported', async () => {
  const options = { ...(await shell('')), command: '/nowhere/at-all' };
  await expect(startProcess(options)).rejects.toMatchObject({
    name: 'EnvironmentError',
    message: expect.stringContaining('/nowhere/at-all'),
  });
});

test('a process that ignores signals ends at once, with all that it started', async () => {
  const running = await startProcess(await shell('trap "" TERM; sleep 1000 & echo $!; wait'));
  const sleeper = async () => Number((await lastLines(running.logFile, 1))[0]);
  await eventually(async () => (await sleeper()) > 0);
  await Promise.all([running.stop(), running.stop()]);
  expect(isAlive(running.pid)).toBe(false);
  // A killed process stays for a moment after the one that started it.
  const started = await sleeper();
  await eventually(() => !isAlive(started));
});
