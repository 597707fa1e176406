import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { downloadInto, downloadTo } from '../../../cli/data/download-part.ts';
import { findManifest } from '../../../cli/data/find-manifest.ts';
import { createManifests, goneText } from '../../../cli/data/stored-manifests.ts';
import { tempDir } from '../../support/project.ts';
import { expectResults, expectTexts } from '../../support/screen.ts';
import { type Answers, brokenOff, fault } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import type { CliResult } from '../support/run-cli.ts';

const CONTENT = Buffer.from(Array.from({ length: 40_000 }, (_, row) => `${row},name ${row}\n`).join(''));
const FILE = 'runs/entity=leads/run=leads-night/leads.csv';
const options = { force: false, onProgress: () => undefined };
const endOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no error',
    (error: unknown) => error,
  );

/** A published file and a target folder. */
async function setting(...faults: Answers[]) {
  const cloud = await awsWithTarget(...faults);
  const manifest = cloud.publish({ content: CONTENT });
  const path = join(await tempDir(), 'leads.csv');
  const gets = () => cloud.asked.filter((call) => call.startsWith(`GetObject ${FILE}`));
  return { ...cloud, manifest, path, gets, download: () => downloadTo(cloud.target, manifest, path, options) };
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

test('checks a complete part without another request', async () => {
  const { download, path, gets } = await setting();
  await writeFile(`${path}.part`, CONTENT);
  expect(await download()).toBe(CONTENT.length);
  expect(gets()).toEqual([]);
  expect(await readFile(path)).toEqual(CONTENT);
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

test('reports bytes that do not match the manifest as corrupt, and keeps neither file nor part', async () => {
  const { download, objects, path } = await setting();
  const changed = Buffer.from(CONTENT);
  changed[77] = 0;
  objects.set(FILE, changed);
  expect(await endOf(download())).toMatchObject({ exitCode: 1 });
  expect(existsSync(path)).toBe(false);
  expect((await stat(`${path}.part`)).size).toBe(0);
});

test('reports a file of another size as corrupt before it fetches a byte', async () => {
  const { download, objects, gets } = await setting();
  objects.set(FILE, CONTENT.subarray(1));
  expect(await endOf(download())).toMatchObject({ exitCode: 1 });
  expect(gets()).toEqual([]);
});

test('downloads an empty file', async () => {
  const cloud = await awsWithTarget();
  const path = join(await tempDir(), 'leads.csv');
  await downloadTo(cloud.target, cloud.publish({ content: '' }), path, options);
  expect((await stat(path)).size).toBe(0);
});

test('replaces an existing file only with --force', async () => {
  const { download, path, target, manifest } = await setting();
  await writeFile(path, 'mine');
  expect(await endOf(download())).toMatchObject({
    exitCode: 2,
    message: `${path} already exists: name another file, or add --force.`,
  });
  expect(await readFile(path, 'utf8')).toBe('mine');
  await downloadTo(target, manifest, path, { ...options, force: true });
  expect(await readFile(path)).toEqual(CONTENT);
});

test.each(['nowhere/leads.csv', '.'])('fetches nothing if the target is %s', async (name) => {
  const { target, manifest, gets } = await setting();
  const path = join(await tempDir(), name);
  expect(await endOf(downloadTo(target, manifest, path, options))).toMatchObject({ exitCode: 2 });
  expect(gets()).toEqual([]);
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

test('a slow stream gets the same bytes', async () => {
  const { target, manifest } = await setting();
  const { stream, all } = sink();
  await downloadInto(target, manifest, stream);
  expect(all()).toEqual(CONTENT);
});

test('a fast stream gets the same bytes, and keeps no "drain" listeners', async () => {
  const { target, manifest } = await setting();
  const { stream, all } = sink(undefined, 10_000_000);
  await downloadInto(target, manifest, stream);
  expect(all()).toEqual(CONTENT);
  expect(stream.listenerCount('drain')).toBe(0);
});

test('reports a stream as not whole if it was closed early or the file is corrupt', async () => {
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
  await expect(findManifest(manifests, 'leads', { run: 'c03f3a' })).rejects.toThrow('2 runs end in "c03f3a": ');
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

test('each refusal of a download has a sentence', async () => {
  const { cli, publish, objects } = await awsWithTarget();
  const { file } = publish();
  const folder = await tempDir();
  const path = join(folder, 'leads.csv');
  const refused = [
    ['a directory that does not exist', await cli('download', 'leads', '-o', join(folder, 'nowhere/leads.csv'))],
    ['a directory', await cli('download', 'leads', '-o', folder)],
  ] as [string, CliResult][];
  const content = objects.get(file.key) ?? Buffer.alloc(0);
  objects.set(file.key, Buffer.alloc(content.length, 'x'));
  refused.push(['other bytes', await cli('download', 'leads', '-o', path)]);
  objects.set(file.key, content.subarray(1));
  refused.push(['another size', await cli('download', 'leads', '-o', path)]);

  await expectResults('download-refusals', refused);
});

test('reports a missing file as expired after its last day, and as missing before', async () => {
  const { publish, target, objects } = await awsWithTarget();
  const manifest = publish({ manifest: { keptUntil: '2026-01-01' } });
  objects.delete(manifest.file.key);
  const path = join(await tempDir(), 'leads.csv');
  expect(await endOf(downloadTo(target, manifest, path, options))).toMatchObject({
    exitCode: 1,
    message: 'The leads of 2026-11-20 have expired: they were kept until 2026-01-01.',
  });
  expect(goneText({ entity: 'leads', date: '2026-11-20', keptUntil: '2027-01-01' }, 'its file', '2026-12-01')).toMatch(
    /its file is missing, although/,
  );
});
