import { appendFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../../../local/ministack/ports.ts';
import { followLines, lastLines } from '../../../local/processes/log-tail.ts';
import { eventually, tempDir } from '../support/support.ts';

test('the last lines of a file', async () => {
  const file = join(await tempDir(), 'a.log');
  expect(await lastLines(file, 2)).toEqual([]);
  await writeFile(file, '');
  expect(await lastLines(file, 2)).toEqual([]);
  await writeFile(file, 'one\n\ntwo\r\nthree\n\n');
  expect(await lastLines(file, 2)).toEqual(['two', 'three']);
  expect(await lastLines(file, 9)).toEqual(['one', '', 'two', 'three']);
});

test('lines are followed as they come, whole, also when a letter arrives in halves', async () => {
  const file = join(await tempDir(), 'a.log');
  await writeFile(file, 'old\n');
  const seen: string[] = [];
  const follower = followLines(file, 4, (line) => seen.push(line));
  const letter = Buffer.from('é');
  await appendFile(file, Buffer.concat([Buffer.from('one\ncaf'), letter.subarray(0, 1)]));
  await eventually(() => seen.length === 1);
  await appendFile(file, Buffer.concat([letter.subarray(1), Buffer.from('\nlast')]));
  await follower.finish();
  expect(seen).toEqual(['one', 'café', 'last']);
});

test('a free port can be listened on', async () => {
  const port = await freePort();
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  server.close();
  expect(port).toBeGreaterThan(1023);
});
