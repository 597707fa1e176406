import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { TableSettings } from '../../../core/config/table-settings.ts';
import { CANARY } from '../../support/builders.ts';
import { smallWorkbook, workbook, workbookFile } from '../../support/workbook.ts';
import { placeForTables, putTable, rowsIn } from './support.ts';

/** Tables of spreadsheets: the facts of their content locate their records. */

const { path, rowsOf } = await placeForTables();
const COLUMNS = ['id', 'name', 'born', 'seen', 'sum'];

const DAY = { xml: '<c s="1"><v>46348</v></c>' };
const NOON = { xml: '<c s="2"><v>46348.5</v></c>' };
const FIRST_DAY = { xml: '<c s="1"><v>1</v></c>' };
const ROWS = [['Leads of November'], [], COLUMNS, ['1', 'שרה', DAY, NOON, 12.5], ['2', null, FIRST_DAY, null, 0.1]];
const WORKBOOK = workbook({ sheets: [{ rows: ROWS }], formats: [14, 22] });
const TYPES: TableSettings['columns'] = {
  born: 'date',
  seen: 'timestamp',
  sum: { type: 'decimal', precision: 18, scale: 2 },
};
describe('a spreadsheet', () => {
  test('becomes a table without the rows above its header, with dates as dates', async () => {
    const file = await workbookFile(WORKBOOK, COLUMNS);
    const written = await putTable(path, { content: WORKBOOK, file, settings: { columns: TYPES, misfit: 'stop' } });

    expect(written).toMatchObject({ rows: 2, shortRows: { count: 0 }, misfits: [] });
    expect(await rowsOf()).toEqual([
      ['1', 'שרה', '2026-11-22', '2026-11-22T12:00:00.000Z', '12.50'],
      ['2', '', '1900-01-01', null, '0.10'],
    ]);
  });

  test('has no byte of a left-out or hashed column in its table, even if rows are short', async () => {
    const content = smallWorkbook([COLUMNS, ['1', `${CANARY}-a`, `${CANARY}-b`, '', ''], ['2', `${CANARY}-c`]]);
    const settings = { except: ['name'], hash: ['born'] };

    await putTable(path, { content, file: await workbookFile(content, COLUMNS), settings, hashKey: 'key' });

    expect((await rowsIn(path)).map(({ born }) => born !== null)).toEqual([true, true]);
    expect(readFileSync(path).includes(CANARY)).toBe(false);
  });
});
