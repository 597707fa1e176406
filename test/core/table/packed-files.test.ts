import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import { CONTENT_NOT_READ } from '../../../core/gate/facts.ts';
import { TableError } from '../../../core/table/table-error.ts';
import { CANARY } from '../../support/builders.ts';
import { smallWorkbook, workbookFile } from '../../support/workbook.ts';
import { zipOfTexts } from '../../support/zip.ts';
import { columnsIn, type Published, placeForTables, putTable, rowsIn } from './support.ts';

/** Tables of spreadsheets and packed files: the facts of their content locate their records. */

const { path } = await placeForTables();
const COLUMNS = ['id', 'name', 'born', 'seen', 'sum'];
const rowsOf = async () => (await rowsIn(path)).map((row) => Object.values(row));

const WORKBOOK = smallWorkbook([
  ['Leads of November'],
  [],
  COLUMNS,
  ['1', 'שרה', { date: 46_348 }, { time: 46_348.5 }, 12.5],
  ['2', '', { date: 1 }, '', 0.1],
]);
const TYPES: TableSettings['columns'] = {
  born: 'date',
  seen: 'timestamp',
  sum: { type: 'decimal', precision: 18, scale: 2 },
};
const ROWS = [
  ['1', 'שרה', '2026-11-22', '2026-11-22T12:00:00.000Z', '12.50'],
  ['2', '', '1900-01-01', null, '0.10'],
];

describe('a spreadsheet', () => {
  test.each<[string, (content: Buffer) => Buffer, string | null]>([
    ['as it is', (content) => content, null],
    ['in gzip', (content) => gzipSync(content), 'gzip'],
    ['alone in a zip archive', (content) => zipOfTexts({ 'leads.xlsx': content }), 'zip'],
  ])('%s becomes a table without the rows above its header, with dates as dates', async (_, packed, compression) => {
    const file = { ...(await workbookFile(WORKBOOK, COLUMNS)), compression };
    const written = await putTable(path, {
      content: packed(WORKBOOK),
      file,
      settings: { columns: TYPES, misfit: 'stop' },
    });

    expect(written).toMatchObject({ rows: 2, shortRows: { count: 0 }, misfits: [] });
    expect(await rowsOf()).toEqual(ROWS);
  });

  test('has no byte of a left-out or hashed column in its table, even if rows are short', async () => {
    const content = smallWorkbook([COLUMNS, ['1', `${CANARY}-a`, `${CANARY}-b`, '', ''], ['2', `${CANARY}-c`]]);
    const settings = { except: ['name'], hash: ['born'] };

    await putTable(path, { content, file: await workbookFile(content, COLUMNS), settings, hashKey: 'key' });

    expect((await rowsIn(path)).map(({ born }) => born !== null)).toEqual([true, true]);
    expect(readFileSync(path).includes(CANARY)).toBe(false);
  });

  test('without a header by its setting has all its rows under the requested columns', async () => {
    const content = smallWorkbook([
      ['1', 'Ann'],
      ['2', 'Bob'],
    ]);
    const file = await workbookFile(content, ['id', 'name'], true);

    expect(file).toMatchObject({ header: null, content: { headed: false } });
    await putTable(path, { content, file });
    expect(await rowsOf()).toEqual([
      ['1', 'Ann'],
      ['2', 'Bob'],
    ]);
  });
});

test.each<[string, Published, RegExp]>([
  [
    'a spreadsheet with another checksum than in its manifest',
    { content: WORKBOOK, file: { format: 'xlsx', header: COLUMNS, crc32: 'AAAAAA==' } },
    /The CRC-32 of the stored file differs/,
  ],
  [
    'a spreadsheet that is cut off',
    {
      content: WORKBOOK.subarray(0, 400),
      file: {
        format: 'xlsx',
        header: COLUMNS,
        content: { ...CONTENT_NOT_READ, width: 5, place: { sheet: 1, row: 3, column: 1 } },
      },
    },
    /^The file /,
  ],
])('throws TableError with the reason for %s', async (_, published, message) => {
  const written = putTable(path, published);

  await expect(written).rejects.toThrow(TableError);
  await expect(written).rejects.toThrow(message);
});

test('writes a table without rows for an empty spreadsheet', async () => {
  const file = { format: null, header: null, rows: 0 };
  expect(await putTable(path, { content: smallWorkbook([]), file })).toMatchObject({ rows: 0 });
  expect(columnsIn(path)).toEqual(['id UTF8', 'name UTF8']);
});
