import { printableLine } from './text.ts';

/** Rows under headings, with columns as wide as their widest cell. Cells may be foreign text: controls are escaped. */
export function textTable(headings: string[], rows: string[][]): string {
  const all = [headings, ...rows].map((row) => row.map(printableLine));
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: string[]) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd();
  return all.map(line).join('\n');
}
