import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvToJsonl } from '../../../core/updates/read-csv.ts';
import { failureOf } from '../../support/failures.ts';
import { bytesOf, entriesOf, idOf, textOf } from './support/lines.ts';

test('writes every record on the line on which it began', async () => {
  const csv = `id,notes,gender\n${idOf(1)},"a\nb",\n\n${idOf(2)},\\N,2\n`;

  expect(await textOf(csvToJsonl(bytesOf(csv)))).toBe(
    `\n{"id":"${idOf(1)}","notes":"a\\nb"}\n\n\n{"id":"${idOf(2)}","notes":null,"gender":2}\n`,
  );
});

test('JSON Lines made from a CSV have the same entries and line numbers as the CSV', async () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'ש', '"', ',', '\n', '\\', ' '), minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(cell, { minLength: 1, maxLength: 20 }),
      fc.integer({ min: 1, max: 90 }),
      async (cells, size) => {
        const rows = cells.map((text, n) => `${idOf(n)},"${text.replaceAll('"', '""')}"\n`);
        const csv = `id,notes\n${rows.join('')}`;

        const jsonl = await textOf(csvToJsonl(bytesOf(csv, size)));

        const withoutBytes = (await entriesOf('jsonl', jsonl)).map((entry) => ({ ...entry, from: null }));
        expect(withoutBytes).toEqual(await entriesOf('csv', csv));
      },
    ),
  );
});

test('refuses an invalid CSV with its line number, without quoting values', async () => {
  const failure = await failureOf(textOf(csvToJsonl(bytesOf(`id,gender\n${idOf(1)},Canary\n`))), 'FileRejected');

  expect(failure.message).toBe(
    'Line 2 of the CSV file is not valid any more: the file has changed since it was checked.',
  );
});
