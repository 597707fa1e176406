import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Chunk, chunkSchema } from '../../../core/batch/batch-state.ts';
import { chunksText, validateUpdates } from '../../../core/batch/validate-updates.ts';
import { LONGEST_LINE } from '../../../core/updates/line-blocks.ts';
import type { UpdateReader } from '../../../core/updates/read-updates.ts';
import { runs } from '../../support/runs.ts';
import { idOf } from '../updates/support/lines.ts';

/** Records on every `gap`-th line, 10 bytes each, then `tail` lines without a record. */
async function chunksOf(
  records: number,
  gap = 1,
  tail = 0,
): Promise<{ chunks: Chunk[]; lines: number; bytes: number }> {
  const lines = records * gap + tail;
  const record = { id: idOf(1) };
  const read: UpdateReader = async function* (bytes) {
    for await (const _ of bytes);
    const entries = Array.from({ length: records }, (_, n) => ({
      line: (n + 1) * gap,
      from: ((n + 1) * gap - 1) * 10,
      record,
    }));
    yield { entries, lines };
  };
  const file = async function* () {
    yield Buffer.alloc(lines * 10);
  };
  const { chunks, bytes } = await validateUpdates(read, file(), undefined, lines * 10);
  return { chunks, lines, bytes };
}

function expectWhole({ chunks, lines, bytes }: Awaited<ReturnType<typeof chunksOf>>, records: number): void {
  for (const chunk of chunks) chunkSchema.parse(chunk);
  const ends = (first: object, key: keyof Chunk) => [first, ...chunks].map((chunk) => ({ ...chunk })[key as never]);
  expect(ends({ to: 0 }, 'to').slice(0, -1)).toEqual(chunks.map(({ from }) => from));
  expect(ends({ lastLine: 0 }, 'lastLine').slice(0, -1)).toEqual(chunks.map(({ firstLine }) => firstLine - 1));
  expect(chunks.map(({ chunk }) => chunk)).toEqual(chunks.map((_, index) => index + 1));
  expect(chunks.reduce((sum, chunk) => sum + chunk.records, 0)).toBe(records);
  expect(chunks.at(-1) ?? { to: bytes, lastLine: lines }).toMatchObject({ to: bytes, lastLine: lines });
  // Lines are 10 bytes long: a chunk starts at its first line.
  for (const { from, firstLine } of chunks) expect(from).toBe((firstLine - 1) * 10);
}

test('puts every line in exactly one of at most 1,000 chunks, for any number of records', async () => {
  const counts = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 3000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 90_000, max: 120_000 }) },
  );
  await fc.assert(
    fc.asyncProperty(counts, fc.integer({ min: 1, max: 3 }), fc.nat(2), async (records, gap, tail) => {
      const cut = await chunksOf(records, gap, tail);

      expectWhole(cut, records);
      expect(cut.chunks.length).toBeLessThanOrEqual(1000);
      for (const chunk of cut.chunks.slice(0, -1)) expect(chunk.records).toBeGreaterThanOrEqual(100);
    }),
    { numRuns: runs(200) },
  );
});

test.each([
  [99_999, 100],
  [100_001, 101],
  [runs(3_300_000), runs(3300)],
])('%i records are cut into chunks of at most %i', async (records, most) => {
  const cut = await chunksOf(records);

  expectWhole(cut, records);
  expect(Math.max(...cut.chunks.map((chunk) => chunk.records))).toBeLessThanOrEqual(most);
});

test('a chunk of long lines has fewer than 100 records, because a function holds it in memory', async () => {
  const cut = await chunksOf(30, 10_000);

  expectWhole(cut, 30);
  for (const { from, to } of cut.chunks) expect(to - from).toBeLessThan(2 * LONGEST_LINE);
});

test('writes one line per chunk, with positions and counts only', async () => {
  expect(chunksText((await chunksOf(101)).chunks)).toBe(
    '{"chunk":1,"from":0,"to":1000,"firstLine":1,"lastLine":100,"records":100}\n' +
      '{"chunk":2,"from":1000,"to":1010,"firstLine":101,"lastLine":101,"records":1}\n',
  );
});
