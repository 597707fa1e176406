import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { validateUpdates } from '../../../core/batch/validate-updates.ts';
import { CSV } from '../../../core/updates/read-csv.ts';
import { JSONL } from '../../../core/updates/read-updates.ts';
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

  expect(await validateUpdates(CSV, bytesOf(csv))).toMatchObject({
    records: 1,
    lines: 3,
    bytes: csv.length,
    chunks: [],
  });
});

test('reports no value of a customer', async () => {
  const text = `${line(1, { gender: 'Canary', notes: 'Canary' })}{"id":"Canary"}\nCanary\n{"Canary\n`;

  expect(JSON.stringify(await validateUpdates(JSONL, bytesOf(text)))).not.toContain('Canary');
});

test('warns about a complementary plan of another fund, and does not refuse the line', async () => {
  const plan = { kupatHolim: 2, kupatHolimComplementary: 10 };
  const found = await validateUpdates(JSONL, bytesOf(line(1, { city: 'Haifa' }) + line(2, plan) + line(3, plan)));

  expect(found).toMatchObject({
    records: 3,
    problems: { total: 0 },
    warnings: [
      {
        field: 'kupatHolimComplementary',
        sentence: 'is a plan of a different fund than the one in kupatHolim',
        records: 2,
        firstLine: 2,
      },
    ],
  });
});

test('keeps the first 20 problems, and counts those of 200 fields and of all others', async () => {
  const text = Array.from({ length: 1000 }, (_, n) => line(n, { [`made-up-${n}`]: 1 })).join('');

  const { total, first, perField } = (await validateUpdates(JSONL, bytesOf(text))).problems;

  expect(total).toBe(1000);
  expect(first.map((problem) => problem.line)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  expect(perField.size).toBe(201);
  expect(perField.get('(others)')).toBe(800);
});

test('refuses null unless allowNull is set, and always refuses it for updateRelated', async () => {
  const text = line(1, { email: null }) + line(2, { updateRelated: null });
  const fieldsIn = async (rules?: { allowNull: boolean }) => [
    ...(await validateUpdates(JSONL, bytesOf(text), rules)).problems.perField.keys(),
  ];

  expect(await fieldsIn()).toEqual(['email', 'updateRelated']);
  expect(await fieldsIn({ allowNull: true })).toEqual(['updateRelated']);
});
