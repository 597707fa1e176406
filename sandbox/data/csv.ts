import type { Cell } from './column.ts';
import type { CrmRecord } from './records.ts';

/** One CSV line of plain texts (RFC 4180, unless a separator or a line end is given). */
export function csvLine(cells: string[], separator = ',', lineBreak = '\r\n'): string {
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  const texts = cells.map((cell) => (/["\r\n]/.test(cell) || cell.includes(separator) ? quoted(cell) : cell));
  return `${texts.join(separator)}${lineBreak}`;
}

function text(cell: Cell | undefined, canary: string): string {
  const value = String(cell ?? '');
  return canary === '' ? value : `${value} ${canary}`.trimStart();
}

/** The line of a record with these columns; every cell carries the canary. */
export function recordLine(record: CrmRecord, columns: string[], canary: string): string {
  return csvLine(columns.map((name) => text(record[name], canary)));
}
