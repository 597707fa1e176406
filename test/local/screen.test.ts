import { afterEach, expect, test, vi } from 'vitest';
import { createScreen } from '../../local/screen.ts';
import { terminal } from './support/terminal.ts';

const withoutTimes = (lines: string[]) => lines.map((line) => line.replace(/\d+\.\d s/, 'N s'));

afterEach(() => {
  vi.unstubAllEnvs();
});

test('without a terminal every step is one plain line with its result', async () => {
  const { stream, raw } = terminal(false);
  const screen = createScreen(stream);
  expect(
    await screen.step(
      'First',
      async () => 7,
      (value) => `gave ${value}`,
    ),
  ).toBe(7);
  await screen.step('Second', async () => screen.line('  within'));
  expect(withoutTimes(raw().split('\n'))).toEqual(['✓ First N s gave 7', '  within', '✓ Second N s', '']);
});

test('a step that fails is shown as failed, and its error goes on', async () => {
  const { stream, seen } = terminal(false);
  const work = () => Promise.reject(new Error('no'));
  await expect(createScreen(stream).step('First', work)).rejects.toThrow('no');
  expect(withoutTimes(seen())).toEqual(['✗ First N s', '']);
});

test('on a terminal a step shows that it runs, then what came of it, in one place', async () => {
  const { stream, seen } = terminal(true);
  const screen = createScreen(stream);
  const { promise, resolve } = Promise.withResolvers<void>();
  const step = screen.step('First', () => promise);
  expect(seen()).toEqual(['… First', '']);
  resolve();
  await step;
  expect(withoutTimes(seen())).toEqual(['✓ First N s', '']);
});

test('on a terminal a line during a step stays, whole, above the step', async () => {
  const { stream, seen } = terminal(true);
  const screen = createScreen(stream);
  await screen.step('Authorization', async () => {
    screen.line('Open: http://127.0.0.1/authorize?x=1');
    expect(seen()).toEqual(['Open: http://127.0.0.1/authorize?x=1', '… Authorization', '']);
  });
  expect(withoutTimes(seen())).toEqual(['Open: http://127.0.0.1/authorize?x=1', '✓ Authorization N s', '']);
});

test('NO_COLOR takes the colours away', async () => {
  const coloured = terminal(true);
  vi.stubEnv('NO_COLOR', undefined);
  vi.stubEnv('FORCE_COLOR', '1');
  await createScreen(coloured.stream).step('First', async () => 0);
  expect(coloured.raw()).toContain('\u001b[32m✓');
  const plain = terminal(true);
  vi.stubEnv('NO_COLOR', '1');
  await createScreen(plain.stream).step('First', async () => 0);
  expect(plain.raw()).not.toContain('\u001b[32m');
});
