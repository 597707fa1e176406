import { expect, test } from 'vitest';
import { mayOpenBrowser, openBrowser } from '../../cli/open-browser.ts';

test('a browser is opened for a person at a terminal only', () => {
  const person = { wanted: true, isTTY: true, env: {} };
  expect(mayOpenBrowser(person)).toBe(true);
  expect(mayOpenBrowser({ ...person, wanted: false })).toBe(false);
  expect(mayOpenBrowser({ ...person, isTTY: false })).toBe(false);
  expect(mayOpenBrowser({ ...person, env: { CI: 'true' } })).toBe(false);
  expect(mayOpenBrowser({ ...person, env: process.env })).toBe(false);
});

test('a machine without any browser is no error', async () => {
  // The opener of another system, which this one does not have.
  const other = process.platform === 'win32' ? 'linux' : 'win32';
  const ended = await openBrowser('http://127.0.0.1:9/', other);
  expect(ended).toBe(false);
});
