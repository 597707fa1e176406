import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvToJsonl } from '../../../core/updates/csv-to-jsonl.ts';
import { jsonlToCsv } from '../../../core/updates/jsonl-to-csv.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesOf, idOf, textOf } from './support/lines.ts';

const csvOf = (records: object[]) =>
  textOf(jsonlToCsv(() => bytesOf(records.map((record) => `${JSON.stringify(record)}\n`).join(''), 50)));

test('records become rows, with a column for each field that one of them has', async () => {
  const records = [
    { id: idOf(1), notes: 'a "b", c' },
    { id: idOf(2), city: null, gender: 2 },
    { notes: '\\N', id: idOf(3) },
  ];

  expect(await csvOf(records)).toBe(
    `id,notes,city,gender\n${idOf(1)},"a ""b"", c",,\n${idOf(2)},,\\N,2\n${idOf(3)},"\\N",,\n`,
  );
});

test('what is written is read back as it was', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'ש', '"', ',', '\n', '\r', '\\', 'N', ' '), minLength: 1 });
  const fields = fc.record(
    { notes: fc.option(text), city: text, gender: fc.constantFrom(1, 2) },
    { requiredKeys: ['city'] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fields, { minLength: 1, maxLength: 10 }), async (all) => {
      const records = all.map((record, index) => ({ id: idOf(index), ...record }));

      const read = await textOf(csvToJsonl(bytesOf(await csvOf(records))));

      const lines = read.split('\n').filter(Boolean);
      expect(lines.map((line) => JSON.parse(line))).toEqual(records);
    }),
  );
});

test.each([
  ['an empty text', ''],
  ['an object', { present: true }],
])('%s is refused by its field, since a cell cannot hold it', async (what, notes) => {
  const { message } = await failureOf(
    csvOf([
      { id: idOf(1), city: 'a' },
      { id: idOf(2), notes },
    ]),
    'FileRejected',
  );

  expect(message).toBe(`CSV cannot hold ${what}, as notes of record 2 is: name a .jsonl file.`);
});
