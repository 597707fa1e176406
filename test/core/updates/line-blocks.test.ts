import { expect, test } from 'vitest';
import { LONGEST_LINE, lineBlocks } from '../../../core/updates/line-blocks.ts';
import { allOf, bytesOf } from './support/lines.ts';

test('keeps only the start of a line that is too long, and the position of the next line', async () => {
  const blocks = await allOf(lineBlocks(bytesOf(`a\n${'x'.repeat(3 * LONGEST_LINE)}\nb\n`, 20_000)));

  expect(blocks.map(({ bytes, ...rest }) => ({ ...rest, text: bytes.toString() }))).toEqual([
    { from: 0, text: 'a\n', tooLong: false },
    { from: 2, text: 'x'.repeat(32_768), tooLong: true },
    { from: 3 + 3 * LONGEST_LINE, text: 'b\n', tooLong: false },
  ]);
});
