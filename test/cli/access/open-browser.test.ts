import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { mayOpenBrowser, openBrowser } from '../../../cli/access/authorize-command.ts';

test('a browser is opened for a person at a terminal only', () => {
  const person = { wanted: true, isTTY: true, env: {} };
  expect(mayOpenBrowser(person)).toBe(true);
  expect(mayOpenBrowser({ ...person, wanted: false })).toBe(false);
  expect(mayOpenBrowser({ ...person, isTTY: false })).toBe(false);
  expect(mayOpenBrowser({ ...person, env: { CI: 'true' } })).toBe(false);
  expect(mayOpenBrowser({ ...person, env: process.env })).toBe(false);
});

test('a machine without any browser is no error', async () => {
  expect(await openBrowser('http://127.0.0.1:9/', ['no-such-browser'])).toBe(false);
});

/** A program that replaces the browser and records its arguments. */
async function started(url: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'open-browser-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const file = join(dir, 'arguments');
  const script = `require('node:fs').writeFileSync(${JSON.stringify(file)}, process.argv.slice(1).join(' '))`;
  expect(await openBrowser(url, [process.execPath, '-e', script])).toBe(true);
  return vi.waitFor(async () => (await readFile(file, 'utf8')) || Promise.reject(new Error('not yet')), 10_000);
}

test('the browser gets a page on this machine that leads to the address, once, and no process has the address', async () => {
  const url = 'https://crm.example.com/auth/authorize?state=a-state-of-43-letters&code_challenge=a-challenge';

  const page = await started(url);

  expect(page).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[-\w]+$/);
  for (const part of ['crm.example.com', 'state', 'challenge']) expect(page).not.toContain(part);
  const elsewhere = await fetch(new URL('/', page), { redirect: 'manual' });
  expect([elsewhere.status, elsewhere.headers.get('location')]).toEqual([404, null]);
  const answer = await fetch(page, { redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([302, url]);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  await expect(fetch(page, { redirect: 'manual' })).rejects.toThrow();
});
