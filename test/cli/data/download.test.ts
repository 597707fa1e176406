import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { downloadInto, downloadTo } from '../../../cli/data/download-part.ts';
import { findManifest, goneText } from '../../../cli/data/find-manifest.ts';
import { createManifests } from '../../../cli/data/stored-manifests.ts';
import { tempDir } from '../../local/support/support.ts';
import { type Answers, brokenOff, fault } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

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
  const cloud = await aws(...faults);
  const manifest = cloud.publish({ content: CONTENT });
  const path = join(await tempDir(), 'leads.csv');
  const gets = () => cloud.asked.filter((call) => call.startsWith(`GetObject ${FILE}`));
  return { ...cloud, manifest, path, gets, download: () => downloadTo(cloud.target, manifest, path, options) };
}

test('a file is under its name, for its owner alone, when size and checksum are proven', async () => {
  const { download, path, gets } = await setting();
  expect(await download()).toEqual({ resumedAt: 0 });
  expect(await readFile(path)).toEqual(CONTENT);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(existsSync(`${path}.part`)).toBe(false);
  expect(gets()).toEqual([`GetObject ${FILE}`]);
});

test('what an earlier attempt left is gone on with, from the byte where it ends', async () => {
  const { download, path, gets } = await setting();
  await writeFile(`${path}.part`, CONTENT.subarray(0, 100_000));
  expect(await download()).toEqual({ resumedAt: 100_000 });
  expect(await readFile(path)).toEqual(CONTENT);
  expect(gets()).toEqual([`GetObject ${FILE} bytes=100000-`]);
});

test('a part that is complete is only proven', async () => {
  const { download, path, gets } = await setting();
  await writeFile(`${path}.part`, CONTENT);
  expect(await download()).toEqual({ resumedAt: CONTENT.length });
  expect(gets()).toEqual([]);
  expect(await readFile(path)).toEqual(CONTENT);
});

test.each([
  ['of another file', Buffer.alloc(5000, 'x')],
  ['longer than the file', Buffer.alloc(CONTENT.length + 1, 'x')],
])('a part %s is of no use, and the file is fetched from its beginning', async (_, part) => {
  const { download, path } = await setting();
  await writeFile(`${path}.part`, part);
  expect(await download()).toEqual({ resumedAt: 0 });
  expect(await readFile(path)).toEqual(CONTENT);
});

/** Breaks the file off that many times after that many bytes of the requested range. */
const cut = (bytes: number, times: number) => fault(`GetObject ${FILE}`, brokenOff(CONTENT, bytes), { times });

test('a connection that breaks is followed by another, from where it broke', async () => {
  const { download, path, gets } = await setting(cut(150_000, 2));
  await download();
  expect(await readFile(path)).toEqual(CONTENT);
  expect(gets().length).toBeGreaterThan(2);
});

test('where every connection breaks, what came stays for the next attempt', async () => {
  const { download, path, target, manifest } = await setting(cut(0, 1000));
  await writeFile(`${path}.part`, CONTENT.subarray(0, 1000));
  expect(await endOf(download())).toMatchObject({ name: 'StorageUnavailable' });
  expect((await stat(`${path}.part`)).size).toBe(1000);
  expect(existsSync(path)).toBe(false);
  expect(target.BucketName).toBe('bucket');
  expect(manifest.file.bytes).toBe(CONTENT.length);
});

test('a file that is replaced while it is read is reported, not mixed', async () => {
  const other = Buffer.alloc(CONTENT.length, 'y');
  const replaced = () => {
    cloud.objects.set(FILE, other);
    return brokenOff(CONTENT, 70_000);
  };
  const cloud = await setting(fault(`GetObject ${FILE}`, replaced, { times: 1 }));
  expect(await endOf(cloud.download())).toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(/was replaced while/),
  });
  expect(existsSync(cloud.path)).toBe(false);
});

test('bytes that are not those of the manifest are corrupt: no file, no part', async () => {
  const { download, objects, path } = await setting();
  const changed = Buffer.from(CONTENT);
  changed[77] = 0;
  objects.set(FILE, changed);
  expect(await endOf(download())).toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(/^The file runs\/.*leads\.csv is corrupt: its CRC-32 is .*Use another date/),
  });
  expect(existsSync(path)).toBe(false);
  expect((await stat(`${path}.part`)).size).toBe(0);
});

test('a file of another size is corrupt before a byte is fetched', async () => {
  const { download, objects, gets } = await setting();
  objects.set(FILE, CONTENT.subarray(1));
  expect(await endOf(download())).toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(/is corrupt: it has \d+ bytes/),
  });
  expect(gets()).toEqual([]);
});

test('a file without a byte is a file', async () => {
  const cloud = await aws();
  const path = join(await tempDir(), 'leads.csv');
  await downloadTo(cloud.target, cloud.publish({ content: '' }), path, options);
  expect((await stat(path)).size).toBe(0);
});

test('what is at the place is replaced only by force', async () => {
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

test.each([
  ['no directory', 'nowhere/leads.csv', /^There is no directory .*nowhere: create it first\.$/],
  ['a directory', '.', / is a directory: name a file in it\.$/],
])('where there is %s nothing is fetched', async (_, name, sentence) => {
  const { target, manifest, gets } = await setting();
  const path = join(await tempDir(), name);
  expect(await endOf(downloadTo(target, manifest, path, options))).toMatchObject({
    exitCode: 2,
    message: expect.stringMatching(sentence),
  });
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

test('a stream gets the same bytes, at its own pace', async () => {
  const { target, manifest } = await setting();
  const { stream, all } = sink();
  await downloadInto(target, manifest, stream);
  expect(all()).toEqual(CONTENT);
});

test('a stream that takes all at once is not listened to once more for every chunk', async () => {
  const { target, manifest } = await setting();
  const { stream, all } = sink(undefined, 10_000_000);
  await downloadInto(target, manifest, stream);
  expect(all()).toEqual(CONTENT);
  expect(stream.listenerCount('drain')).toBe(0);
});

test('a stream that got other bytes, or was closed early, is reported not to be whole', async () => {
  const { target, manifest, objects } = await setting();
  expect(await endOf(downloadInto(target, manifest, sink(10_000).stream))).toMatchObject({
    exitCode: 1,
    message: 'Not whole: the program that read the file stopped before the end.',
  });
  objects.set(FILE, Buffer.alloc(CONTENT.length, 'z'));
  expect(await endOf(downloadInto(target, manifest, sink().stream))).toMatchObject({
    exitCode: 1,
    message: expect.stringMatching(/^Not whole: The file .* is corrupt/),
  });
});

test('manifests are found by the newest date, by a date, and by a run though a later one replaced it', async () => {
  const { publish, target } = await aws();
  const old = publish({ date: '2026-11-18', execution: 'leads-18' });
  const replaced = publish({ date: '2026-11-20', execution: 'leads-20a' });
  const latest = publish({ date: '2026-11-20', execution: 'leads-20b' });
  const manifests = createManifests(target);
  expect(await findManifest(manifests, 'leads', {})).toEqual(latest);
  expect(await findManifest(manifests, 'leads', { date: '2026-11-18' })).toEqual(old);
  expect(await findManifest(manifests, 'leads', { run: 'leads-20a' })).toEqual(replaced);
});

test('a run is named by a unique end of its name too, and by the entity the newest that stored a file', async () => {
  const { publish, target } = await aws();
  const manifests = createManifests(target);
  const first = publish({ date: '2026-11-18', execution: 'leads-a-c03f3a' });
  expect(await findManifest(manifests, 'leads', { run: 'leads' })).toEqual(first);
  const second = publish({ date: '2026-11-19', execution: 'leads-b-c03f3a' });

  expect(await findManifest(manifests, 'leads', { run: 'b-c03f3a' })).toEqual(second);
  await expect(findManifest(manifests, 'leads', { run: 'c03f3a' })).rejects.toThrow('2 runs end in "c03f3a": ');
});

test('what is not there is reported in one sentence, with what is nearest', async () => {
  const { publish, target, objects } = await aws();
  const manifests = createManifests(target);
  const said = (which: Parameters<typeof findManifest>[2]) =>
    findManifest(manifests, 'leads', which).then(
      () => '',
      ({ message, exitCode }) => `${exitCode} ${message}`,
    );
  expect(await said({})).toMatch(/^1 No export of leads is published yet/);
  publish({ date: '2026-11-18', execution: 'a' });
  publish({ date: '2026-11-21', execution: 'b' });
  expect(await said({ date: '2026-11-19' })).toBe(
    '1 No export of leads is published for 2026-11-19; the nearest: 2026-11-18 and 2026-11-21.',
  );
  expect(await said({ date: '2026-11-30' })).toMatch(/the nearest: 2026-11-21\.$/);
  expect(await said({ run: 'leads-nobody' })).toMatch(/^1 The run "leads-nobody" stored no file of leads/);
  objects.set('published/entity=leads/date=2026-11-18.json', Buffer.from('<html>'));
  expect(await said({ date: '2026-11-18' })).toMatch(/^1 The object published\/.* has unexpected content/);
  objects.delete('runs/entity=leads/run=b/_manifest.json');
  expect(await said({})).toMatch(/^1 The leads of 2026-11-21 are published, but the manifest .* is missing/);
});

test('a file whose time is over has expired; one that should still be there is gone', async () => {
  const { publish, target, objects } = await aws();
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
