import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { createScreen } from '../../local/screen.ts';
import { terminal } from './support/terminal.ts';

const withoutTimes = (lines: string[]) => lines.map((line) => line.replace(/\d+\.\d s/, 'N s'));

test('without a terminal, each step is one plain line with its result', async () => {
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

test('on a terminal, a line during a step is printed above the step', async () => {
  const { stream, raw } = terminal(true);
  const screen = createScreen(stream);
  await screen.step('Authorization', async () => screen.line('Open: http://127.0.0.1/authorize?x=1'));
  const shown = stripVTControlCharacters(raw()).split('\n').filter(Boolean);
  // The step is cleared before the line, so that the line is not cleared with it.
  expect(raw()).toContain(' Authorization\n\u001b[1A\u001b[2KOpen: ');
  expect(withoutTimes(shown)).toEqual([
    '… Authorization',
    'Open: http://127.0.0.1/authorize?x=1',
    '… Authorization',
    '✓ Authorization N s',
  ]);
});
