import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Setting } from '../../../cli/probe/settings.ts';
import { readBefore, writeSettings } from '../../../cli/probe/write.ts';
import { tree } from '../../lib/support/files.ts';

const CONFIGURATION = { crm: { baseUrl: 'https://crm.test/api/v1', authUrl: 'https://auth.test' } };
const SETTINGS: Setting[] = [{ path: ['polling', 'firstWaitSeconds'], value: () => 20 }];
const AFTER = { ...CONFIGURATION, polling: { firstWaitSeconds: 20 } };

function folderWith(text: string) {
  const folder = tree({ 'real.json': text });
  return { folder, file: join(folder, 'real.json') };
}

test('a link to the file stays a link, and the file keeps its rights and its indentation', () => {
  const { folder, file } = folderWith(JSON.stringify(CONFIGURATION, null, 4));
  chmodSync(file, 0o640);
  const link = join(folder, 'link.json');
  symlinkSync('real.json', link);

  const lines = writeSettings(readBefore(link), SETTINGS);

  expect(lines).toEqual(['polling.firstWaitSeconds: nothing -> 20']);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(file, 'utf8')).toBe(`${JSON.stringify(AFTER, null, 4)}\n`);
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readdirSync(folder).toSorted()).toEqual(['link.json', 'real.json']);
});

test.each(['null', '[]', '"x"', '{"crm": ', ''])('a file with %j is refused before anything is asked', (text) => {
  const { file } = folderWith(text);

  expect(() => readBefore(file)).toThrow(`${file} cannot be written to, for it`);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test.skipIf(process.getuid?.() === 0)('a file that may not be written to is refused before anything is asked', () => {
  const { file } = folderWith(JSON.stringify(CONFIGURATION));
  chmodSync(file, 0o444);

  expect(() => readBefore(file)).toThrow(`${file} cannot be written to`);
});

test('a file that somebody removed meanwhile stays removed', () => {
  const { file } = folderWith(JSON.stringify(CONFIGURATION));
  const before = readBefore(file);
  rmSync(file);

  expect(() => writeSettings(before, SETTINGS)).toThrow('was changed while the CRM was asked');
  expect(existsSync(file)).toBe(false);
});
