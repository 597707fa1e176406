import { spawn } from 'node:child_process';
import { rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { downloadTo } from '../../../cli/data/download-part.ts';
import { eventually, PROJECT, tempDir } from '../../support/project.ts';
import { run } from '../../support/running.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { fault, Reply } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { type CliResult, WITHOUT_AWS } from '../support/run-cli.ts';

/** Tests the effect of the disk, another download, a link and Ctrl-C on a download. */

const CONTENT = Buffer.alloc(110_000, 'id,name\n');
const FILE = 'runs/entity=leads/run=leads-night/leads.csv';
const options = { force: false, onProgress: () => undefined };
const errorOf = (promise: Promise<unknown>) => promise.then(() => 'no error').catch((error: unknown) => error);

/** A published file and a target folder. @param trouble replaces the file's response */
async function setting(trouble?: (response: ServerResponse) => unknown) {
  const cloud = await awsWithTarget(fault(`GetObject ${FILE}`, trouble && new Reply(trouble)));
  const manifest = cloud.publish({ content: CONTENT });
  const path = join(await tempDir(), 'leads.csv');
  const args = ['download', 'leads', ...cloud.place];
  return { ...cloud, manifest, path, args, download: () => downloadTo(cloud.target, manifest, path, options) };
}

/** Runs the command on a disk with so many blocks of 1024 bytes per file; in 100, the last chunk fits only partly. */
async function onFullDisk(args: string[], { output = '/dev/null', blocks = 100 } = {}): Promise<CliResult> {
  return inShell(`ulimit -f ${blocks}; exec "$@" > ${output}`, args);
}

/** Runs the command in a shell. @param script has the command in its arguments */
async function inShell(script: string, args: string[]): Promise<CliResult> {
  const command = [process.execPath, join(PROJECT, 'cli/main.js'), ...args];
  const child = spawn('bash', ['-c', script, 'bash', ...command], { env: { ...process.env, ...WITHOUT_AWS } });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const stderr = await text(child.stderr);
  return { code: (await ended) ?? -1, stdout: '', stderr, shown: stderr };
}

test('on a full disk, the download fails, and leaves no file with its final name and no lock', async () => {
  const { args, path } = await setting();

  const noByte = await onFullDisk([...args, '-o', path], { blocks: 0 });
  expect(await readdir(dirname(path))).toEqual([]);
  const notWhole = await onFullDisk([...args, '-o', path]);
  expect(await readdir(dirname(path))).toEqual(['leads.csv.part']);
  const output = await onFullDisk([...args, '-o', '-'], { output: path });

  expect([noByte, notWhole, output].map(({ code }) => code)).toEqual([2, 2, 1]);
  await expectResults('download-full-disk', [
    ['a disk that accepts no byte', noByte],
    ['a disk that accepts only the beginning', notWhole],
    ['standard output that is a file on such a disk', output],
  ]);
});

/** What happens to the part before or during a download, the exit code, and what is in the folder afterwards. */
const FAULTS: [what: string, when: 'before' | 'during', fault: (path: string) => void, code: number, left: string[]][] =
  [
    ['the part is removed', 'during', (path) => rmSync(`${path}.part`, { force: true }), 2, []],
    ['the folder is removed', 'during', (path) => rmSync(dirname(path), { recursive: true, force: true }), 2, []],
    ['the part loses its bytes', 'during', (path) => truncateSync(`${path}.part`), 1, ['leads.csv.part']],
    ['a symbolic link has replaced the part', 'before', linkInPlaceOfPart, 2, ['leads.csv.other', 'leads.csv.part']],
  ];

function linkInPlaceOfPart(path: string): void {
  writeFileSync(`${path}.other`, 'of somebody else');
  symlinkSync(`${path}.other`, `${path}.part`);
}

test('each fault of the part on the disk is reported, and no file gets its final name', async () => {
  const ends: [string, string][] = [];
  for (const [what, when, spoil, code, left] of FAULTS) {
    const { target, manifest, path } = await setting();
    if (when === 'before') spoil(path);
    const onProgress = () => when === 'during' && spoil(path);

    const error = await errorOf(downloadTo(target, manifest, path, { force: false, onProgress }));

    expect([what, error]).toMatchObject([what, { exitCode: code }]);
    expect([what, await readdir(dirname(path)).catch(() => [])]).toEqual([what, left]);
    if (when === 'before') expect(await readFile(`${path}.other`, 'utf8')).toBe('of somebody else');
    ends.push([what, (error as Error).message]);
  }
  await expectTexts('download-part-faults', ends);
});

test('refuses a second download to a path until the first ends, or a person removes the lock of a dead one', async () => {
  let go: () => void = () => undefined;
  const running = await setting((response) => {
    go = () => response.writeHead(200, { 'content-length': CONTENT.length }).end(CONTENT);
  });
  const first = running.download();
  await eventually(() => running.asked.includes(`GetObject ${FILE}`));
  const second = await errorOf(running.download());
  go();
  await first;
  expect(await readFile(running.path)).toEqual(CONTENT);
  expect(await readdir(dirname(running.path))).toEqual(['leads.csv']);

  const dead = await setting();
  await writeFile(`${dead.path}.part.lock`, 'process 1 on another\u001b[31m');
  const refused = await errorOf(dead.download());
  await rm(`${dead.path}.part.lock`);
  expect(await dead.download()).toBe(0);

  expect([second, refused]).toMatchObject([{ exitCode: 2 }, { exitCode: 2 }]);
  await expectTexts('download-locked', [
    ['a download that is running', (second as Error).message],
    ['a lock with another text', (refused as Error).message],
  ]);
});

test('a part that others can read becomes a file that only its owner can read', async () => {
  const { download, path } = await setting();
  await writeFile(`${path}.part`, CONTENT.subarray(0, 1000), { mode: 0o644 });
  await download();
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('Ctrl-C ends a download at once with its document, keeps the part and removes the lock', async () => {
  const { args, path } = await setting((response) => {
    response.writeHead(200, { 'content-length': CONTENT.length });
    response.write(CONTENT.subarray(0, 70_000)); // and no more
  });
  const command = run('cli/main.js', [...args, '-o', path, '--json'], WITHOUT_AWS);
  const arrived = async () => (await stat(`${path}.part`).catch(() => undefined))?.size === 70_000;
  await eventually(arrived);
  expect(await command.interrupt(), command.stderr()).toBe(130);
  expect(JSON.parse(command.stdout())).toEqual({ ok: false, error: command.stderr().trimEnd() });
  await expectTexts('download-stopped', [['Ctrl-C during a download', command.stderr()]]);
  expect(await readdir(join(path, '..'))).toEqual(['leads.csv.part']);
});
