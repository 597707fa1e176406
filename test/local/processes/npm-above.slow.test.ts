import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { eventually, isAlive, tempDir } from '../../support/project.ts';

/** The processes that remain after a supervisor ends npm alone. */

const announcement = z.object({ pid: z.number(), sleeper: z.number() });
const FIXTURE = join(import.meta.dirname, '..', 'fixtures', 'npm-start.ts');

/** A real `npm start` that has a process running. @param more what makes its shell stay, and not become the program */
async function npmStart(more = '') {
  const cacheDir = await tempDir();
  const start = `"${process.execPath}" "${FIXTURE}" "${cacheDir}"${more}`;
  await writeFile(join(cacheDir, 'package.json'), JSON.stringify({ scripts: { start } }));
  const npm = spawn('npm', ['start', '--silent'], { cwd: cacheDir, stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface(npm.stdout), 'line');
  const said = announcement.parse(JSON.parse(line));
  onTestFinished(() => {
    for (const pid of [said.pid, said.sleeper]) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });
  const runs = () => readdir(join(cacheDir, 'runs'));
  return { ...said, npm, runs };
}

test.for([
  ['SIGKILL', ''],
  ['SIGTERM', ''],
  ['SIGKILL', '; true'],
] as const)('if only npm gets %s (shell: "%s"), every process of the start ends', async ([signal, more]) => {
  const { pid, npm, sleeper, runs } = await npmStart(more);
  expect([pid, sleeper].map(isAlive)).toEqual([true, true]);

  npm.kill(signal);

  await eventually(() => !isAlive(pid) && !isAlive(sleeper));
  expect(await runs()).toEqual([]);
});
