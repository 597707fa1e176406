import type { Draw } from '../../../../sandbox/data/draw.ts';
import { COLUMNS, type ColumnName } from './columns.ts';
import { headerTexts, type Service } from './service.ts';

/** The content of a file before it is written. */
export interface Table {
  /** The fields of the columns, which decide the types in a spreadsheet; texts by default. */
  columns: ColumnName[];
  header: string[] | null;
  rows: string[][];
  /** Raw lines after the rows. */
  tail: string[];
  sheets: { name: string; hidden: boolean; rows: string[][] }[];
  comment: string | null;
  lastRow: string[] | null;
}

export function tableOf(service: Service, rows: number, draw: Draw): Table {
  const { columns, texture, dialect, kind, sheet, total } = service;
  const filled = Array.from({ length: rows }, (_, row) =>
    columns.map((name) => COLUMNS[name].value(row, draw, texture)),
  );
  const thinned = filled.map((cells) =>
    cells.map((cell, place) => (place > 0 && place < cells.length - 1 && draw.chance(0.1) ? '' : cell)),
  );
  const empty = kind === 'csv' && columns.length > 1 ? dialect.emptyRows : 0;
  return {
    columns: [...columns],
    header: headerTexts(service),
    rows: [...thinned, ...Array.from({ length: empty }, () => columns.map(() => ''))],
    tail: total ? [`Total: ${rows}`] : [],
    sheets: kind === 'xlsx' && sheet.emptySheet ? [{ name: 'Sheet2', hidden: draw.chance(0.5), rows: [] }] : [],
    comment: null,
    lastRow: null,
  };
}

export function withoutColumn(table: Table, name: ColumnName): void {
  const place = table.columns.indexOf(name);
  const others = <T>(cells: readonly T[]) => cells.filter((_, at) => at !== place);
  table.columns = others(table.columns);
  table.header = table.header && others(table.header);
  table.rows = table.rows.map(others);
}

/** Adds the values of a column under a header text: as a new column, or in place of another one. */
export function withColumn(table: Table, name: ColumnName, text: string | null, place: number, draw: Draw): void {
  const texture = { hebrew: false, odd: [] };
  const put = <T>(cells: readonly T[], cell: T) => [...cells.slice(0, place), cell, ...cells.slice(place + 1)];
  table.columns = put(table.columns, name);
  table.header = table.header && text !== null ? put(table.header, text) : null;
  table.rows = table.rows.map((cells, row) => put(cells, COLUMNS[name].value(row, draw, texture)));
}
