import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { runCommand, startProcess } from '../../../local/processes/processes.ts';
import { endLeftovers } from '../../../local/processes/run-record.ts';
import { eventually, isAlive, tempDir, tempRecord } from '../../support/project.ts';

const STARTER = join(import.meta.dirname, '..', 'fixtures', 'starter.ts');
const announcement = z.object({ id: z.string(), pid: z.number(), tmpDir: z.string() });

function ownChild(command: string, args: string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** A start in a process of its own, with the numbers of all that it started. */
async function starter(cacheDir: string) {
  const child = ownChild(process.execPath, [STARTER, cacheDir]);
  if (child.stdout === null) throw new Error('no output');
  const [line] = await once(createInterface(child.stdout), 'line');
  const said = announcement.parse(JSON.parse(line));
  const logOf = (name: string) => join(cacheDir, 'runs', said.id, `${name}.log`);
  // A log is opened in the background, so it may not exist yet when the starter announces itself.
  const printed = (name: string) => (existsSync(logOf(name)) ? readFile(logOf(name), 'utf8').then(Number) : 0);
  await eventually(async () => (await printed('plain')) > 0 && (await printed('stubborn')) > 0);
  return { ...said, child, pids: [said.pid, await printed('plain'), await printed('stubborn')] };
}

async function killHard(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('after a start was killed, the next one', () => {
  test('ends its processes, and no others', async () => {
    const cacheDir = await tempDir();
    const [killed, living] = await Promise.all([starter(cacheDir), starter(cacheDir)]);
    const unrelated = ownChild('sleep', ['1000']).pid ?? 0;
    await killHard(killed.child);
    expect(killed.pids.map(isAlive)).toEqual([true, true, true]);

    expect(await endLeftovers(cacheDir)).toEqual(['plain', 'stubborn']);

    expect(killed.pids.map(isAlive)).toEqual([false, false, false]);
    expect(living.pids.map(isAlive)).toEqual([true, true, true]);
    expect(isAlive(unrelated)).toBe(true);
    expect((await readdir(join(cacheDir, 'runs'))).sort()).toEqual([living.id, `${living.id}.json`].sort());
    expect([existsSync(killed.tmpDir), existsSync(living.tmpDir)]).toEqual([false, true]);
    await killHard(living.child);
    await endLeftovers(cacheDir);
    expect(living.pids.map(isAlive)).toEqual([false, false, false]);
  });

  test('removes old and unreadable records, and neither ends another process nor removes another directory', async () => {
    const cacheDir = await tempDir();
    const foreign = await tempDir();
    const unrelated = ownChild('sleep', ['1000']).pid ?? 0;
    const gone = { pid: 2 ** 22 + 1, startedAt: 'long ago' };
    const processes = [{ name: 'old', pid: unrelated, startedAt: 'long ago' }];
    await mkdir(join(cacheDir, 'runs'));
    await writeFile(join(cacheDir, 'runs', 'half.json'), '{"starter":');
    await writeFile(join(cacheDir, 'runs', 'a.json'), JSON.stringify({ starter: gone, tmpDir: foreign, processes }));

    expect(await endLeftovers(cacheDir)).toEqual([]);

    expect(isAlive(unrelated)).toBe(true);
    expect(await readdir(join(cacheDir, 'runs'))).toEqual([]);
    expect(existsSync(foreign)).toBe(true);
  });
});

test('a command that has ended is not in the record: its number may be given to another group', async () => {
  const record = await tempRecord();
  const options = { env: { PATH: process.env.PATH }, record };
  await runCommand({ ...options, name: 'ended', command: 'true', args: [] });
  await startProcess({ ...options, name: 'running', command: 'sleep', args: ['1000'] });
  const runs = join(record.cacheDir, 'runs');
  const [file = ''] = (await readdir(runs)).filter((name) => name.endsWith('.json'));
  expect(JSON.parse(await readFile(join(runs, file), 'utf8')).processes).toMatchObject([{ name: 'running' }]);
});

test.runIf(process.platform === 'linux')(
  'a group with the number of one before the last boot is not ended',
  async () => {
    const cacheDir = await tempDir();
    const leader = spawn('sh', ['-c', 'sleep 1000 & echo $!'], {
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(createInterface(leader.stdout), 'line');
    onTestFinished(() => void process.kill(Number(line), 'SIGKILL'));
    if (leader.exitCode === null) await once(leader, 'exit');
    const starter = { pid: 2 ** 22 + 1, startedAt: 'before/1' };
    const processes = [{ name: 'old', pid: leader.pid, startedAt: 'before/2' }];
    await mkdir(join(cacheDir, 'runs'));
    await writeFile(join(cacheDir, 'runs', 'a.json'), JSON.stringify({ starter, tmpDir: '/none', processes }));

    expect(await endLeftovers(cacheDir)).toEqual([]);

    expect(isAlive(Number(line))).toBe(true);
  },
);

test('a start on a disk that accepts no byte leaves nothing', async () => {
  const dir = await tempDir();
  const command = `ulimit -f 0; exec "${process.execPath}" "${STARTER}" "${dir}"`;
  const child = spawn('sh', ['-c', command], { env: { ...process.env, TMPDIR: dir }, stdio: 'ignore' });
  expect(await once(child, 'exit')).not.toEqual([0, null]);
  expect(await readdir(dir, { recursive: true })).toEqual(['runs']);
});

test('a start that ends stops its processes and leaves no files, but can keep its logs until it is closed again', async () => {
  const record = await tempRecord();
  const options = { name: 'sleeper', command: 'sleep', args: ['1000'], env: { PATH: process.env.PATH } };
  const sleeper = await startProcess({ ...options, record });
  await record.close({ keepWorkDir: true });
  expect(isAlive(sleeper.pid)).toBe(false);
  expect(existsSync(record.workDir)).toBe(true);
  await record.close();
  expect(await readdir(join(record.cacheDir, 'runs'))).toEqual([]);
  expect(existsSync(record.tmpDir)).toBe(false);
});
