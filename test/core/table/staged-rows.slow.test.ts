import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Separator } from '../../../core/file/csv-cells.ts';
import { fileRecords, provenBatches, type StoredRecord, unreadableReason } from '../../../core/file/file-records.ts';
import { stage } from '../../../core/table/engine.ts';
import { runs } from '../../support/runs.ts';
import { all } from '../../support/workbook.ts';
import { inputOf, placeForTables } from './support.ts';

const { dir, duckDb } = await placeForTables();

/** Texts that readers of CSV may take for something else. */
const ODD = [
  ...['"', '""', ' "', '" ', '\t"', ' ', '\t', "'", '\\', '\\"', '#', 'a', '7', 'NULL', '\\N', '\0', '\x01', '\x1a'],
  ...['\ufeff', '\u00a0', '\u0085', '\u2028', 'ש', '😀', ',', ';'],
];
const BREAKS = ['\n', '\r', '\r\n', '\n\n'];

const texts = fc
  .record({
    separator: fc.constantFrom<Separator[]>(',', ';', '\t'),
    width: fc.integer({ min: 1, max: 4 }),
    lineBreak: fc.constantFrom('\n', '\r\n', '\r'),
  })
  .chain(({ separator, width, lineBreak }) => {
    const text = (...units: string[]) => fc.string({ unit: fc.constantFrom(...units), maxLength: 3 });
    const quoted = text(...ODD, ...BREAKS).map((each) => `"${each.replaceAll('"', '""')}"`);
    const cells = fc.array(fc.oneof(text(...ODD), quoted), { minLength: width, maxLength: width });
    const row = fc.oneof(
      { arbitrary: cells.map((each) => each.join(separator) + lineBreak), weight: 5 },
      fc.string({ unit: fc.constantFrom(...ODD, ...BREAKS, separator, lineBreak), maxLength: 12 }),
    );
    const bytes = fc.oneof({ arbitrary: row.map(Buffer.from), weight: 30 }, fc.constant(Buffer.from([0xef, 0xbb])));
    return fc.record({
      ...{ separator: fc.constant(separator), width: fc.constant(width), isBroken: fc.boolean() },
      ...{ content: fc.array(bytes, { maxLength: 8 }).map(Buffer.concat), chunk: fc.integer({ min: 1, max: 40 }) },
    });
  });

test('DuckDB finds the cells of the scanner in any bytes, many of which are passed as they are', async () => {
  let files = 0;
  const found = { bytes: 0, rows: 0 };
  await fc.assert(
    fc.asyncProperty(texts, async ({ separator, width, isBroken, ...published }) => {
      const content = isBroken ? { broken: { count: 1, record: 1 }, rowsAbove: 0 } : null;
      const { manifest, source, reading } = inputOf({ ...published, file: { dialect: { separator } } });
      const file = { ...manifest.file, content } as typeof manifest.file;
      const refuse = () => new Error('other bytes');
      const batches = async function* (): AsyncGenerator<StoredRecord[]> {
        let isHeader = true;
        for await (const batch of provenBatches(source, file, { limits: reading, bytesOfWidth: width, refuse })) {
          const rows = isHeader ? batch.slice(1) : batch;
          isHeader &&= batch.length === 0;
          found.bytes += rows.filter(Buffer.isBuffer).length;
          found.rows += rows.length;
          yield rows.map((row) => (Buffer.isBuffer(row) ? row : row.slice(0, width)));
        }
      };
      files += 1;
      const path = join(dir, `${files}.csv`);
      const records = await all(fileRecords(source, file, reading)).catch(unreadableReason);
      const staged = await stage(batches(), path, width, separator).catch(unreadableReason);

      // The binding drops a byte order mark at the beginning of a text, but not of its bytes.
      const places = Array.from({ length: width }, (_, at) => at);
      const hex = (text?: string) => (text === undefined ? null : Buffer.from(text).toString('hex').toUpperCase());
      const rows = () => duckDb.rows(`SELECT ${places.map((at) => `hex(encode(c${at}))`)} FROM ${staged}`);
      const expected = Array.isArray(records)
        ? records.slice(1).map((each) => places.map((at) => hex(each[at])))
        : records;
      expect(Array.isArray(records) ? await rows() : staged).toEqual(expected);
      rmSync(path, { force: true });
    }),
    { numRuns: runs(3000) },
  );

  expect(found.bytes / found.rows).toBeGreaterThan(0.1);
});
