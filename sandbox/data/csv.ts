import type { Cell } from './column.ts';
import type { CrmRecord } from './records.ts';

function quote(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One CSV line (RFC 4180) of plain texts. */
export function csvLine(cells: string[]): string {
  return `${cells.map(quote).join(',')}\r\n`;
}

function text(cell: Cell | undefined, canary: string): string {
  const value = cell === null || cell === undefined ? '' : String(cell);
  return canary === '' ? value : `${value} ${canary}`.trimStart();
}

/** The line of a record with these columns; every cell carries the canary. */
export function recordLine(record: CrmRecord, columns: string[], canary: string): string {
  return csvLine(columns.map((name) => text(record[name], canary)));
}
