import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { eventually, isAlive, tempDir, tempRecord } from '../../support/project.ts';

const STARTER = join(import.meta.dirname, '..', 'fixtures', 'starter.ts');
const announcement = z.object({ pids: z.array(z.number()), tmpDir: z.string() });

function ownChild(command: string, args: string[]): ChildProcess {
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** A start in a process of its own, with the numbers of all that it started. */
async function starter(cacheDir: string) {
  const child = ownChild(process.execPath, [STARTER, cacheDir]);
  if (child.stdout === null) throw new Error('no output');
  const [line] = await once(createInterface(child.stdout), 'line');
  return { child, ...announcement.parse(JSON.parse(line)) };
}

test('when a start is killed, its processes and files go, and no others', async () => {
  const cacheDir = await tempDir();
  const [killed, living] = await Promise.all([starter(cacheDir), starter(cacheDir)]);
  expect(killed.pids.map(isAlive)).toEqual([true, true]);

  killed.child.kill('SIGKILL');

  await eventually(() => killed.pids.every((pid) => !isAlive(pid)) && !existsSync(killed.tmpDir));
  expect(living.pids.map(isAlive)).toEqual([true, true]);
  expect(existsSync(living.tmpDir)).toBe(true);
  // A folder in which a process still writes is removed at the second try.
  await eventually(async () => (await readdir(join(cacheDir, 'runs'))).length === 1);
});

test('a process that has ended is forgotten: its number may be given to another group', async () => {
  const record = await tempRecord();
  const pid = ownChild('sleep', ['1000']).pid ?? 0;
  const exited = Promise.resolve();
  record.add({ pid, exited, stop: async () => undefined });
  await exited;
  await record.close();
  expect(isAlive(pid)).toBe(true);
});
