import { type Fault, ofTable, ofText } from './fault.ts';
import type { Table } from './table.ts';

/** Faults that give fewer rows than usual or promised, and faults that hide that. */

const keep = (table: Table, rows: number) => {
  table.rows = table.rows.slice(0, rows);
};
const lonely = (text: string) => text.replace(/(=name|=city|=notes)/, '\r$1');

export const ROW_FAULTS: Fault[] = [
  ...([null, 'gzip', 'zip'] as const).map(
    (compression): Fault => ({
      name: `two rows, ${compression ?? 'not packed'}`,
      wish: { usual: true, compression },
      table: (table) => keep(table, 2),
    }),
  ),
  ofTable('two rows of a spreadsheet', { usual: true, kind: 'xlsx' }, (table) => keep(table, 2)),
  ofTable('fewer rows than minRows', { minRows: true }, (table, _, { minRows = 1 }) => keep(table, minRows - 1)),
  ofTable('fewer rows than minRows, as gzip', { minRows: true, compression: 'gzip' }, (table, _, { minRows = 1 }) =>
    keep(table, minRows - 1),
  ),
  ofTable('no rows', { usual: true }, (table) => keep(table, 0)),
  ofTable('no rows, under minRows', { minRows: true }, (table) => keep(table, 0)),
  ofTable('empty rows instead of records', { usual: true, kind: 'csv', width: 2 }, (table) => {
    table.rows = table.rows.map((cells, row) => (row < 2 ? cells : cells.map(() => '')));
  }),
  {
    name: 'two rows full of lone carriage returns',
    wish: { usual: true, kind: 'csv', width: 3, header: 'plain' },
    table: (table) => {
      keep(table, 2);
      for (const cells of table.rows) cells[1] = Array.from({ length: 100 }, (_, at) => `a${at}`).join('\r');
    },
    text: (text) => text.replaceAll('"', ''),
  },
  ofTable('two rows and repeated headers', { usual: true, kind: 'csv', header: 'plain', width: 2 }, (table) => {
    keep(table, 2);
    for (let times = 0; times < 30; times += 1) table.rows.push([...(table.header ?? [])]);
  }),
  ofText('lone carriage returns outside of quotation marks', { kind: 'csv', header: 'plain' }, (text, draw) =>
    text
      .split('\n')
      .map((line) => (draw.chance(0.1) ? lonely(line) : line))
      .join('\n'),
  ),
  { name: 'an old export', oldExport: true, wish: { usual: true } },
  ofTable('a full sheet', { kind: 'xlsx' }, (table) => {
    table.lastRow = table.rows.at(-1) ?? [];
  }),
  ofTable('two visible sheets with a header', { kind: 'xlsx' }, (table) =>
    table.sheets.push({
      name: 'More',
      hidden: false,
      rows: [...(table.header ? [table.header] : []), ...table.rows],
    }),
  ),
  ofTable('the file twice', { kind: 'csv', header: 'plain', width: 2 }, (table) => {
    table.rows.push([...(table.header ?? [])], ...table.rows.map((cells) => [...cells]));
  }),
  ofTable('joined pages with another order of columns', { kind: 'csv', header: 'plain', width: 3 }, (table) => {
    const turned = (cells: readonly string[]) => [...cells].reverse();
    table.rows.push(turned(table.header ?? []), ...table.rows.slice(0, 5).map(turned));
  }),
  ofText('a block of zeros', { kind: 'csv', usual: true }, (text, draw) => {
    const place = draw.int(1, text.length - 1);
    return text.slice(0, place) + '\0'.repeat(512) + text.slice(place);
  }),
  ofTable('some ragged rows', { width: 2 }, (table, draw) => {
    for (const cells of table.rows.slice(1, -1)) if (draw.chance(0.003)) cells.pop();
  }),
  ofTable('many ragged rows', { width: 2 }, (table, draw) => {
    for (const cells of table.rows) if (draw.chance(0.3)) cells.pop();
  }),
];
