import { expect, test } from 'vitest';
import { createScreen } from '../../local/screen.ts';
import { terminal } from './support/terminal.ts';

const withoutTimes = (lines: string[]) => lines.map((line) => line.replace(/\d+\.\d s/, 'N s'));

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

test('on a terminal a line during a step stays, whole, above the step', async () => {
  const { stream, seen } = terminal(true);
  const screen = createScreen(stream);
  await screen.step('Authorization', async () => {
    screen.line('Open: http://127.0.0.1/authorize?x=1');
    expect(seen()).toEqual(['Open: http://127.0.0.1/authorize?x=1', '… Authorization', '']);
  });
  expect(withoutTimes(seen())).toEqual(['Open: http://127.0.0.1/authorize?x=1', '✓ Authorization N s', '']);
});
