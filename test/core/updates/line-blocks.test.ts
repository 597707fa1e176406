import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LONGEST_LINE, lineBlocks } from '../../../core/updates/line-blocks.ts';
import { allOf, bytesOf } from './support/lines.ts';

test('blocks are whole lines and together the file, for any pieces', async () => {
  const line = fc.integer({ min: 0, max: 30_000 }).map((length) => `${'x'.repeat(length)}\n`);
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), fc.integer({ min: 500, max: 200_000 }), async (lines, size) => {
      const file = `${lines.join('')}end`;

      const blocks = await allOf(lineBlocks(bytesOf(file, size)));

      expect(blocks.map(({ bytes }) => bytes.toString()).join('') === file).toBe(true);
      expect(blocks.slice(0, -1).every(({ bytes }) => bytes.at(-1) === 0x0a)).toBe(true);
      let from = 0;
      for (const block of blocks) {
        expect(block.from).toBe(from);
        from += block.bytes.length;
      }
    }),
    { numRuns: 50 },
  );
});

test('keeps only the start of a line that is too long, and the position of the next line', async () => {
  const blocks = await allOf(lineBlocks(bytesOf(`a\n${'x'.repeat(3 * LONGEST_LINE)}\nb\n`, 20_000)));

  expect(blocks.map(({ bytes, ...rest }) => ({ ...rest, text: bytes.toString() }))).toEqual([
    { from: 0, text: 'a\n', tooLong: false },
    { from: 2, text: 'x'.repeat(32_768), tooLong: true },
    { from: 3 + 3 * LONGEST_LINE, text: 'b\n', tooLong: false },
  ]);
});

test('reports a line of twice the limit as too long', async () => {
  const [block] = await allOf(lineBlocks(bytesOf('x'.repeat(2 * LONGEST_LINE))));

  expect(block).toMatchObject({ tooLong: true });
});
