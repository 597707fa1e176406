import type { Fault } from './fault.ts';
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
  { name: 'two rows of a spreadsheet', wish: { usual: true, kind: 'xlsx' }, table: (table) => keep(table, 2) },
  {
    name: 'fewer rows than minRows',
    wish: { minRows: true },
    table: (table, _, { minRows = 1 }) => keep(table, minRows - 1),
  },
  {
    name: 'fewer rows than minRows, as gzip',
    wish: { minRows: true, compression: 'gzip' },
    table: (table, _, { minRows = 1 }) => keep(table, minRows - 1),
  },
  { name: 'no rows', wish: { usual: true }, table: (table) => keep(table, 0) },
  { name: 'no rows, under minRows', wish: { minRows: true }, table: (table) => keep(table, 0) },
  {
    name: 'empty rows instead of records',
    wish: { usual: true, kind: 'csv', width: 2 },
    table: (table) => {
      table.rows = table.rows.map((cells, row) => (row < 2 ? cells : cells.map(() => '')));
    },
  },
  {
    name: 'two rows full of lone carriage returns',
    wish: { usual: true, kind: 'csv', width: 3, header: 'plain' },
    table: (table) => {
      keep(table, 2);
      for (const cells of table.rows) cells[1] = Array.from({ length: 100 }, (_, at) => `a${at}`).join('\r');
    },
    text: (text) => text.replaceAll('"', ''),
  },
  {
    name: 'two rows and repeated headers',
    wish: { usual: true, kind: 'csv', header: 'plain', width: 2 },
    table: (table) => {
      keep(table, 2);
      for (let times = 0; times < 30; times += 1) table.rows.push([...(table.header ?? [])]);
    },
  },
  {
    name: 'lone carriage returns outside of quotation marks',
    wish: { kind: 'csv', header: 'plain' },
    text: (text, draw) =>
      text
        .split('\n')
        .map((line) => (draw.chance(0.1) ? lonely(line) : line))
        .join('\n'),
  },
  { name: 'an old export', oldExport: true, wish: { usual: true } },
  {
    name: 'a full sheet',
    wish: { kind: 'xlsx' },
    table: (table) => {
      table.lastRow = table.rows.at(-1) ?? [];
    },
  },
  {
    name: 'two visible sheets with a header',
    wish: { kind: 'xlsx' },
    table: (table) =>
      table.sheets.push({
        name: 'More',
        hidden: false,
        rows: [...(table.header ? [table.header] : []), ...table.rows],
      }),
  },
  {
    name: 'the file twice',
    wish: { kind: 'csv', header: 'plain', width: 2 },
    table: (table) => {
      table.rows.push([...(table.header ?? [])], ...table.rows.map((cells) => [...cells]));
    },
  },
  {
    name: 'joined pages with another order of columns',
    wish: { kind: 'csv', header: 'plain', width: 3 },
    table: (table) => {
      const turned = (cells: readonly string[]) => [...cells].reverse();
      table.rows.push(turned(table.header ?? []), ...table.rows.slice(0, 5).map(turned));
    },
  },
  {
    name: 'a block of zeros',
    wish: { kind: 'csv', usual: true },
    text: (text, draw) => {
      const place = draw.int(1, text.length - 1);
      return text.slice(0, place) + '\0'.repeat(512) + text.slice(place);
    },
  },
  {
    name: 'some ragged rows',
    wish: { width: 2 },
    table: (table, draw) => {
      for (const cells of table.rows.slice(1, -1)) if (draw.chance(0.003)) cells.pop();
    },
  },
  {
    name: 'many ragged rows',
    wish: { width: 2 },
    table: (table, draw) => {
      for (const cells of table.rows) if (draw.chance(0.3)) cells.pop();
    },
  },
];
