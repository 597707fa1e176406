import { spawn } from 'node:child_process';
import { existsSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { downloadInto, downloadTo } from '../../../cli/data/download-part.ts';
import { findManifest } from '../../../cli/data/find-manifest.ts';
import { createManifests, goneText } from '../../../cli/data/stored-manifests.ts';
import { eventually, PROJECT, tempDir } from '../../support/project.ts';
import { run } from '../../support/running.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { type Answers, brokenOff, fault, Reply } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { type CliResult, WITHOUT_AWS } from '../support/run-cli.ts';

const CONTENT = Buffer.from(Array.from({ length: 40_000 }, (_, row) => `${row},name ${row}\n`).join(''));
const FILE = 'runs/entity=leads/run=leads-night/leads.csv';
const options = { force: false, onProgress: () => undefined };
const endOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: unknown) => error,
  );

async function setting(...faults: Answers[]) {
  const cloud = await awsWithTarget(...faults);
  const manifest = cloud.publish({ content: CONTENT });
  const path = join(await tempDir(), 'leads.csv');
  const gets = () => cloud.asked.filter((call) => call.startsWith(`GetObject ${FILE}`));
  const args = ['download', 'leads', ...cloud.place];
  return { ...cloud, manifest, path, gets, args, download: () => downloadTo(cloud.target, manifest, path, options) };
}

test('gives a file its name, for its owner alone, after size and checksum match', async () => {
  const { download, path, gets } = await setting();
  expect(await download()).toBe(0);
  expect(await readFile(path)).toEqual(CONTENT);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(existsSync(`${path}.part`)).toBe(false);
  expect(gets()).toEqual([`GetObject ${FILE}`]);
});

test('resumes an earlier attempt from the byte where its part ends', async () => {
  const { download, path, gets } = await setting();
  await writeFile(`${path}.part`, CONTENT.subarray(0, 100_000));
  expect(await download()).toBe(100_000);
  expect(await readFile(path)).toEqual(CONTENT);
  expect(gets()).toEqual([`GetObject ${FILE} bytes=100000-${CONTENT.length - 1}`]);
});

test.each([
  ['of another file', Buffer.alloc(5000, 'x')],
  ['longer than the file', Buffer.alloc(CONTENT.length + 1, 'x')],
])('fetches the file from the beginning if the part is %s', async (_, part) => {
  const { download, path } = await setting();
  await writeFile(`${path}.part`, part);
  expect(await download()).toBe(0);
  expect(await readFile(path)).toEqual(CONTENT);
});

/** Breaks the file off that many times after that many bytes of the requested range. */
const cut = (bytes: number, times: number) => fault(`GetObject ${FILE}`, brokenOff(CONTENT, bytes), { times });

test('requests the rest after a connection breaks', async () => {
  const { download, path, gets } = await setting(cut(150_000, 2));
  await download();
  expect(await readFile(path)).toEqual(CONTENT);
  expect(gets().length).toBeGreaterThan(2);
});

test('keeps the part for the next attempt if every connection breaks', async () => {
  const { download, path } = await setting(cut(0, 1000));
  await writeFile(`${path}.part`, CONTENT.subarray(0, 1000));
  expect(await endOf(download())).toMatchObject({ name: 'StorageUnavailable' });
  expect((await stat(`${path}.part`)).size).toBe(1000);
  expect(existsSync(path)).toBe(false);
});

test('reports a file that is replaced while it is read, and does not mix both', async () => {
  const other = Buffer.alloc(CONTENT.length, 'y');
  const replaced = () => {
    cloud.objects.set(FILE, other);
    return brokenOff(CONTENT, 70_000);
  };
  const cloud = await setting(fault(`GetObject ${FILE}`, replaced, { times: 1 }));
  const end = await endOf(cloud.download());
  expect(end).toMatchObject({ exitCode: 1 });
  await expectTexts('download-replaced', [['a file that is replaced while it is read', (end as Error).message]]);
  expect(existsSync(cloud.path)).toBe(false);
});

test('downloads an empty file', async () => {
  const cloud = await awsWithTarget();
  const path = join(await tempDir(), 'leads.csv');
  await downloadTo(cloud.target, cloud.publish({ content: '' }), path, options);
  expect((await stat(path)).size).toBe(0);
});

test('replaces an existing file with --force', async () => {
  const { path, target, manifest } = await setting();
  await writeFile(path, 'mine');
  await downloadTo(target, manifest, path, { ...options, force: true });
  expect(await readFile(path)).toEqual(CONTENT);
});

/** A slow stream, closed after `most` bytes as `head` does. */
function sink(most = Number.POSITIVE_INFINITY, highWaterMark = 1000) {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const stream = new Writable({
    highWaterMark,
    write: (chunk: Buffer, _, done) => {
      bytes += chunk.length;
      chunks.push(chunk);
      setImmediate(() => done(bytes > most ? Object.assign(new Error('closed'), { code: 'EPIPE' }) : null));
    },
  });
  return { stream, all: () => Buffer.concat(chunks) };
}

test.each([
  ['slow', 1000],
  ['fast', 10_000_000],
])('a %s stream gets the same bytes, and keeps no "drain" listeners', async (_, highWaterMark) => {
  const { target, manifest } = await setting();
  const { stream, all } = sink(undefined, highWaterMark);
  await downloadInto(target, manifest, stream);
  expect(all()).toEqual(CONTENT);
  expect(stream.listenerCount('drain')).toBe(0);
});

test('reports the output as unusable if the stream was closed early or the file is corrupt', async () => {
  const { target, manifest, objects } = await setting();
  const closed = await endOf(downloadInto(target, manifest, sink(10_000).stream));
  objects.set(FILE, Buffer.alloc(CONTENT.length, 'z'));
  const corrupt = await endOf(downloadInto(target, manifest, sink().stream));
  expect([closed, corrupt]).toMatchObject([{ exitCode: 1 }, { exitCode: 1 }]);
  await expectTexts('download-not-whole', [
    ['a stream that was closed early', (closed as Error).message],
    ['a corrupt file', (corrupt as Error).message],
  ]);
});

test('finds the manifest of the newest date, of a given date, and of a run that was replaced', async () => {
  const { publish, target } = await awsWithTarget();
  const old = publish({ date: '2026-11-18', execution: 'leads-18' });
  const replaced = publish({ date: '2026-11-20', execution: 'leads-20a' });
  const latest = publish({ date: '2026-11-20', execution: 'leads-20b' });
  const manifests = createManifests(target);
  expect(await findManifest(manifests, 'leads', {})).toEqual(latest);
  expect(await findManifest(manifests, 'leads', { date: '2026-11-18' })).toEqual(old);
  expect(await findManifest(manifests, 'leads', { run: 'leads-20a' })).toEqual(replaced);
});

test('finds a run by a unique end of its name, and by entity the newest run that stored a file', async () => {
  const { publish, target } = await awsWithTarget();
  const manifests = createManifests(target);
  const first = publish({ date: '2026-11-18', execution: 'leads-a-c03f3a' });
  expect(await findManifest(manifests, 'leads', { run: 'leads' })).toEqual(first);
  const second = publish({ date: '2026-11-19', execution: 'leads-b-c03f3a' });

  expect(await findManifest(manifests, 'leads', { run: 'b-c03f3a' })).toEqual(second);
  await expect(findManifest(manifests, 'leads', { run: 'c03f3a' })).rejects.toMatchObject({ exitCode: 2 });
});

test('reports what was not found in one sentence, with the nearest dates', async () => {
  const { publish, objects, cli } = await awsWithTarget();
  const results: [string, CliResult][] = [];
  const asked = async (what: string, ...args: string[]) => {
    const result = await cli('download', 'leads', '-o', '-', ...args);
    expect(result).toMatchObject({ code: args[0] === '--run' ? 2 : 1, stdout: '' });
    results.push([what, result]);
  };
  await asked('nothing is published');
  results.push(['nothing is published, of any entity', await cli('download', '--all')]);
  publish({ date: '2026-11-18', execution: 'a' });
  publish({ date: '2026-11-21', execution: 'b' });
  await asked('a date between others', '--date', '2026-11-19');
  await asked('a date after all others', '--date', '2026-11-30');
  await asked('an unknown run', '--run', 'leads-nobody');
  objects.set('published/entity=leads/date=2026-11-18.json', Buffer.from('<html>'));
  await asked('a pointer that is not JSON', '--date', '2026-11-18');
  objects.delete('runs/entity=leads/run=b/_manifest.json');
  await asked('a manifest is missing');

  await expectResults('not-found', results);
});

const CORRUPT = Buffer.from(CONTENT);
CORRUPT[77] = 0;

/** A target, what is in the way, the exit code, the requests for the file, and what the folder has afterwards. */
const REFUSALS: [
  what: string,
  name: string,
  wrong: { mine?: string; stored?: Buffer },
  ...ends: [number, number, string[]],
][] = [
  ['a directory that does not exist', 'nowhere/leads.csv', {}, 2, 0, []],
  ['a directory', '.', {}, 2, 0, []],
  ['a file that exists', 'leads.csv', { mine: 'mine' }, 2, 0, ['leads.csv']],
  ['other bytes', 'leads.csv', { stored: CORRUPT }, 1, 1, ['leads.csv.part']],
  ['another size', 'leads.csv', { stored: CONTENT.subarray(1) }, 1, 0, []],
];

test('refuses a download in a sentence, and keeps no byte that is wrong', async () => {
  const results: [string, CliResult][] = [];
  for (const [what, name, { mine, stored = CONTENT }, ...ends] of REFUSALS) {
    const { cli, objects, path, gets } = await setting();
    objects.set(FILE, stored);
    if (mine) await writeFile(path, mine);

    const result = await cli('download', 'leads', '-o', join(dirname(path), name));

    const left = await readdir(dirname(path));
    expect([what, result.code, gets().length, left]).toEqual([what, ...ends]);
    for (const file of left) expect(await readFile(join(dirname(path), file), 'utf8')).toBe(mine ?? '');
    results.push([what, result]);
  }

  await expectResults('download-refusals', results);
});

test('reports a missing file as expired after its last day, and as missing before', async () => {
  const { publish, target, objects } = await awsWithTarget();
  const manifest = publish({ manifest: { keptUntil: '2026-01-01' } });
  objects.delete(manifest.file.key);
  const path = join(await tempDir(), 'leads.csv');
  const gone = { entity: 'leads', date: '2026-11-20' } as const;

  const error = await endOf(downloadTo(target, manifest, path, options));

  expect(error).toMatchObject({ exitCode: 1 });
  await expectTexts('download-gone', [
    ['after its last day', (error as Error).message],
    ['before', goneText({ ...gone, keptUntil: '2027-01-01' }, 'its file', '2026-12-01')],
  ]);
});

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

    const error = await endOf(downloadTo(target, manifest, path, { force: false, onProgress }));

    expect([what, error]).toMatchObject([what, { exitCode: code }]);
    expect([what, await readdir(dirname(path)).catch(() => [])]).toEqual([what, left]);
    if (when === 'before') expect(await readFile(`${path}.other`, 'utf8')).toBe('of somebody else');
    ends.push([what, (error as Error).message]);
  }
  await expectTexts('download-part-faults', ends);
});

test('refuses a second download to a path until the first ends, or a person removes the lock of a dead one', async () => {
  let go: () => void = () => undefined;
  const waits = new Reply((response) => {
    go = () => response.writeHead(200, { 'content-length': CONTENT.length }).end(CONTENT);
  });
  const running = await setting(fault(`GetObject ${FILE}`, waits));
  const first = running.download();
  await eventually(() => running.asked.includes(`GetObject ${FILE}`));
  const second = await endOf(running.download());
  go();
  await first;
  expect(await readFile(running.path)).toEqual(CONTENT);
  expect(await readdir(dirname(running.path))).toEqual(['leads.csv']);

  const dead = await setting();
  await writeFile(`${dead.path}.part.lock`, 'process 1 on another\u001b[31m');
  const refused = await endOf(dead.download());
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
  const begins = new Reply((response) => {
    response.writeHead(200, { 'content-length': CONTENT.length });
    response.write(CONTENT.subarray(0, 70_000)); // and no more
  });
  const { args, path } = await setting(fault(`GetObject ${FILE}`, begins));
  const command = run('cli/main.js', [...args, '-o', path, '--json'], WITHOUT_AWS);
  const arrived = async () => (await stat(`${path}.part`).catch(() => undefined))?.size === 70_000;
  await eventually(arrived);
  expect(await command.interrupt(), command.stderr()).toBe(130);
  expect(JSON.parse(command.stdout())).toEqual({ ok: false, error: command.stderr().trimEnd() });
  await expectTexts('download-stopped', [['Ctrl-C during a download', command.stderr()]]);
  expect(await readdir(join(path, '..'))).toEqual(['leads.csv.part']);
});
