import { appendFile, mkdtemp, open, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isUnchanged, stampOf } from '../../../core/updates/file-stamp.ts';

async function openedFile() {
  const folder = await mkdtemp(join(tmpdir(), 'stamp-'));
  const path = join(folder, 'a.csv');
  await writeFile(path, 'id\n');
  const file = await open(path);
  onTestFinished(async () => {
    await file.close();
    await rm(folder, { recursive: true });
  });
  return { path, file };
}

test('a file that nobody touches stays the same', async () => {
  const { file } = await openedFile();

  expect(isUnchanged(await stampOf(file), await stampOf(file))).toBe(true);
});

test.each<[string, (path: string) => Promise<void>]>([
  ['grows', (path) => appendFile(path, 'x')],
  ['is written again with as many bytes', (path) => utimes(path, new Date(), new Date(Date.now() + 1000))],
])('a file that %s has changed', async (_, change) => {
  const { path, file } = await openedFile();
  const before = await stampOf(file);

  await change(path);

  expect(isUnchanged(before, await stampOf(file))).toBe(false);
});
