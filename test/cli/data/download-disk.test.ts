import { spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { downloadTo } from '../../../cli/data/download-part.ts';
import { waitUntil } from '../../../local/processes/wait-until.ts';
import { PROJECT, tempDir } from '../../support/project.ts';
import { run } from '../../support/running.ts';
import { fault, Reply } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { WITHOUT_AWS } from '../support/run-cli.ts';

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

/** Runs the command on a disk with so many blocks of 512 bytes per file; in 200, the last chunk fits only partly. */
async function onFullDisk(args: string[], { output = '/dev/null', blocks = 200 } = {}) {
  const script = 'ulimit -f "$1"; out="$2"; shift 2; exec "$@" > "$out"';
  const command = [process.execPath, join(PROJECT, 'cli/main.js'), ...args];
  const child = spawn('sh', ['-c', script, 'sh', String(blocks), output, ...command], {
    env: { ...process.env, ...WITHOUT_AWS },
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { stderr: await text(child.stderr), code: await ended };
}

test('on a full disk, the download fails and no file gets its final name', async () => {
  const { args, path } = await setting();
  expect(await onFullDisk([...args, '-o', path])).toEqual({
    code: 2,
    stderr: `${path}.part cannot be written (EFBIG): name a file elsewhere with -o.\n`,
  });
  expect(existsSync(path)).toBe(false);
});

test('a disk that accepts no byte is left without a lock or part file', async () => {
  const { args, path } = await setting();
  const { code, stderr } = await onFullDisk([...args, '-o', path], { blocks: 0 });
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('(EFBIG)') });
  expect(await readdir(join(path, '..'))).toEqual([]);
});

test('standard output redirected to a file on a full disk is reported as not whole', async () => {
  const { args, path } = await setting();
  const { code, stderr } = await onFullDisk([...args, '-o', '-'], { output: path });
  expect({ code, stderr }).toEqual({ code: 1, stderr: 'Not whole: writing to standard output failed (EFBIG).\n' });
});

test.each([
  [
    'part',
    (path: string) => rmSync(`${path}.part`, { force: true }),
    /\.part cannot be written \(ENOENT\): name a file elsewhere/,
  ],
  [
    'folder',
    (path: string) => rmSync(dirname(path), { recursive: true, force: true }),
    /^There is no directory .*create it first/,
  ],
])(
  'a %s that is removed during the download is reported with the advice to name another',
  async (_, remove, message) => {
    const { target, manifest, path } = await setting();
    const onProgress = () => remove(path);
    const error = await errorOf(downloadTo(target, manifest, path, { force: false, onProgress }));
    expect(error).toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
  },
);

test('a part that lost bytes on the disk is reported, and does not become the file', async () => {
  const { target, manifest, path } = await setting();
  let lost = false;
  const onProgress = async () => {
    if (!lost) await writeFile(`${path}.part`, '');
    lost = true;
  };
  expect(await errorOf(downloadTo(target, manifest, path, { force: false, onProgress }))).toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(/leads\.csv\.part has \d+ bytes on the disk, not 110000: remove it\.$/),
  });
  expect(existsSync(path)).toBe(false);
});

test('refuses a second download to the same path while the first is running', async () => {
  let go: () => void = () => undefined;
  const { download, path, asked } = await setting((response) => {
    go = () => response.writeHead(200, { 'content-length': CONTENT.length }).end(CONTENT);
  });
  const first = download();
  await waitUntil(() => asked.includes(`GetObject ${FILE}`), { withinMs: 5_000 });
  expect(await errorOf(download())).toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(
      /leads\.csv\.part is being written by process \d+ on \S+\. Wait until it ends, .* If that process has died, remove .*\.part\.lock and start again\.$/,
    ),
  });
  go();
  await first;
  expect(await readFile(path)).toEqual(CONTENT);
  expect(await readdir(join(path, '..'))).toEqual(['leads.csv']);
});

test('reports the lock of a killed process, and downloads after the lock is removed', async () => {
  const { download, path } = await setting();
  await writeFile(`${path}.part.lock`, 'process 1 on another\u001b[31m');
  expect(await errorOf(download())).toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('another process.'),
  });
  await rm(`${path}.part.lock`);
  expect(await download()).toBe(0);
});

test('does not follow a link in place of the part, and leaves no lock behind', async () => {
  const { download, path } = await setting();
  const other = `${path}.other`;
  await writeFile(other, 'of somebody else');
  await symlink(other, `${path}.part`);
  expect(await errorOf(download())).toMatchObject({ exitCode: 2, message: expect.stringContaining('(ELOOP)') });
  expect(await readFile(other, 'utf8')).toBe('of somebody else');
  expect(existsSync(`${path}.part.lock`)).toBe(false);
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
  await waitUntil(arrived, { withinMs: 20_000 });
  command.child.kill('SIGINT');
  expect(await command.ended, command.stderr()).toBe(130);
  const error = 'Stopped. The part that was downloaded is in leads.csv.part: the same command continues from there.';
  expect(JSON.parse(command.stdout())).toEqual({ ok: false, error });
  expect(command.stderr()).toBe(`${error}\n`);
  expect(await readdir(join(path, '..'))).toEqual(['leads.csv.part']);
});
