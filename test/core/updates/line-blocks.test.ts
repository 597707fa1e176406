import { expect, test } from 'vitest';
import { LONGEST_LINE, lineBlocks } from '../../../core/updates/line-blocks.ts';
import { allOf, bytesOf } from './support/lines.ts';

test('passes on only the start of a line that is too long, and the position of the next line', async () => {
  const blocks = await allOf(lineBlocks(bytesOf(`a\n${'x'.repeat(3 * LONGEST_LINE)}\nb\n`, 20_000)));

  const [first, start, ...others] = blocks.map(({ bytes, from }) => ({ from, text: bytes.toString() }));
  expect([first, ...others]).toEqual([
    { from: 0, text: 'a\n' },
    { from: 3 + 3 * LONGEST_LINE, text: 'b\n' },
  ]);
  expect(start?.from).toBe(2);
  expect(start?.text.length).toBeGreaterThan(LONGEST_LINE);
  expect(start?.text.length).toBeLessThan(LONGEST_LINE + 20_000);
});
