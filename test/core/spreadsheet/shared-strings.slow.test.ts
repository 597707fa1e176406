import { expect, test } from 'vitest';
import { MOST_SHARED_BYTES, readSharedStrings } from '../../../core/spreadsheet/shared-strings.ts';

const TEXT_BYTES = 1_000_000;
/** The shared texts of a workbook with the given total size. */
async function* sharedTexts(bytes: number): AsyncGenerator<Uint8Array> {
  const textOf = (length: number) => Buffer.from(`<si><t>${'x'.repeat(length)}</t></si>`);
  const whole = textOf(TEXT_BYTES);
  yield Buffer.from('<sst>');
  for (let left = bytes; left > 0; left -= TEXT_BYTES) yield left < TEXT_BYTES ? textOf(left) : whole;
  yield Buffer.from('</sst>');
}

test('reads 256 MB of shared texts, and refuses one byte more', async () => {
  const strings = await readSharedStrings(sharedTexts(MOST_SHARED_BYTES), 2 * MOST_SHARED_BYTES);
  expect(strings.get(255)).toHaveLength(TEXT_BYTES);

  await expect(readSharedStrings(sharedTexts(MOST_SHARED_BYTES + 1), 2 * MOST_SHARED_BYTES)).rejects.toMatchObject({
    name: 'ReadingUnfinished',
    message: expect.stringContaining('256 MB'),
  });
});
