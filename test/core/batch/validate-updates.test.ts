import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Chunk, chunkSchema } from '../../../core/batch/batch-state.ts';
import { chunksText, validateUpdates } from '../../../core/batch/validate-updates.ts';
import { LONGEST_LINE } from '../../../core/updates/lines.ts';
import { CSV } from '../../../core/updates/read-csv.ts';
import { JSONL, type UpdateReader } from '../../../core/updates/read-updates.ts';
import { runs } from '../../support/runs.ts';
import { bytesOf, idOf } from '../updates/support/lines.ts';

const line = (n: number, fields: object) => `${JSON.stringify({ id: idOf(n), ...fields })}\n`;

test('counts and measures a valid file, and cuts it into chunks', async () => {
  const text = `${line(1, { notes: 'a' })}\n${line(2, { customFields: { present: true } })}${line(3, { customFields: {} })}`;

  expect(await validateUpdates(JSONL, bytesOf(text))).toEqual({
    records: 3,
    lines: 4,
    bytes: text.length,
    crc32: crc32(text),
    problems: { total: 0, first: [], perField: new Map() },
    warnings: [{ field: 'customFields', sentence: 'is deprecated', records: 2, firstLine: 3 }],
    chunks: [{ chunk: 1, from: 0, to: text.length, firstLine: 1, lastLine: 4, records: 3 }],
  });
});

test('the bytes of each chunk contain exactly its lines and records', async () => {
  const text = Array.from({ length: 250 }, (_, n) => `${n % 7 === 0 ? '\n' : ''}${line(n, { notes: 'ש' })}`).join('');

  const { chunks } = await validateUpdates(JSONL, bytesOf(text));

  expect(chunks).toHaveLength(3);
  for (const { from, to, firstLine, lastLine, records } of chunks) {
    const part = Buffer.from(text).subarray(from, to).toString();
    expect(part.split('\n').slice(0, -1)).toEqual(text.split('\n').slice(firstLine - 1, lastLine));
    expect(part.split('\n').filter((each) => each !== '')).toHaveLength(records);
  }
});

test('counts problems, and does not cut a file that has any', async () => {
  const text = `${line(1, { gender: 9 })}${line(2, { gender: 8, hight: 1 })}${line(3, { notes: 'x' })}`;

  expect(await validateUpdates(JSONL, bytesOf(text))).toMatchObject({
    records: 1,
    lines: 3,
    problems: { total: 3, perField: new Map(Object.entries({ gender: 2, hight: 1 })) },
    chunks: [],
  });
});

test('checks a CSV file in the same way, and does not cut it', async () => {
  const csv = `id,notes\n${idOf(1)},"a\nb"\n`;

  const found = await validateUpdates(CSV, bytesOf(csv));
  expect(found).toMatchObject({ records: 1, lines: 3, bytes: csv.length, chunks: [] });
});

test('warns about a complementary plan of another fund, and does not refuse the line', async () => {
  const plan = { kupatHolim: 2, kupatHolimComplementary: 10 };
  const sentence = expect.stringMatching(/ fund .*kupatHolim/);
  const found = await validateUpdates(JSONL, bytesOf(line(1, { city: 'Haifa' }) + line(2, plan) + line(3, plan)));

  expect(found).toMatchObject({
    records: 3,
    problems: { total: 0 },
    warnings: [{ field: 'kupatHolimComplementary', sentence, records: 2, firstLine: 2 }],
  });
});

test('warns about texts that a spreadsheet may have damaged', async () => {
  const texts = ['Levi', '3.12346E+11', '#N/A', '#NAME?', '########', 'Da\ufffda', '1e10', '#12', 'Flat #B2!'];
  const rows = texts.map((text, n) => `${idOf(n)},${text}\n`);

  const { warnings } = await validateUpdates(CSV, bytesOf(`id,idNumber\n${rows.join('')}`));
  expect(warnings).toMatchObject([{ field: 'idNumber', records: 5, firstLine: 3 }]);
});

test('keeps the first 20 problems, and counts those of 200 fields and of all others', async () => {
  const text = Array.from({ length: 1000 }, (_, n) => line(n, { [`made-up-${n}`]: 1 })).join('');

  const { total, first, perField } = (await validateUpdates(JSONL, bytesOf(text))).problems;

  expect(total).toBe(1000);
  expect(first.map((problem) => problem.line)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  expect(perField.size).toBe(201);
  expect(perField.get('(others)')).toBe(800);
});

/** Records on every `gap`-th line of 10 bytes, then `tail` lines without a record. */
async function chunksOf(
  records: number,
  gap = 1,
  tail = 0,
): Promise<{ chunks: Chunk[]; lines: number; bytes: number }> {
  const lines = records * gap + tail;
  const record = { id: idOf(1) };
  const read: UpdateReader = async function* (blocks) {
    for await (const _ of blocks);
    yield Array.from({ length: records }, (_, n) => ({ line: (n + 1) * gap, from: ((n + 1) * gap - 1) * 10, record }));
  };
  const file = async function* () {
    yield Buffer.from('123456789\n'.repeat(lines));
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
