import { printableLine } from './text.ts';

/** Rows under headings, with columns as wide as their widest cell. Cells may be foreign text: controls are escaped. */
export function textTable(headings: string[], rows: string[][]): string {
  const all = [headings, ...rows].map((row) => row.map(printableLine));
  const widths = headings.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: string[]) =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd();
  return all.map(line).join('\n');
}

interface Column {
  name: string;
  /** The column may be left out if there is not enough room; the highest number goes first. */
  optional?: number;
}

/**
 * A table whose last column is a name to copy. If the terminal is too narrow, the name gets a line of its own, and
 * optional columns are left out.
 * @returns the heading, a text for each row, and the names of the columns left out. A name with a line of its own makes
 *  texts of two lines
 */
export function fittedTable(columns: Column[], rows: string[][], width: number) {
  const lines = (shown: Column[], cells: string[][]) =>
    textTable(
      shown.map(({ name }) => name),
      cells,
    ).split('\n');
  const fits = (text: string[]) => text.every((line) => line.length <= width);
  const whole = lines(columns, rows);
  if (fits(whole)) return { lines: whole, leftOut: [] };
  const optional = columns.filter((column) => column.optional !== undefined);
  const order = optional.toSorted((a, b) => (b.optional ?? 0) - (a.optional ?? 0));
  for (let count = 0; ; count += 1) {
    const leftOut = order.slice(0, count);
    const shown = columns.slice(0, -1).filter((column) => !leftOut.includes(column));
    const [heading = '', ...texts] = lines(
      shown,
      rows.map((row) => row.filter((_, index) => shown.includes(columns[index] as Column))),
    );
    if (count < order.length && !fits([heading, ...texts])) continue;
    const named = texts.map((text, index) => `${text}\n    ${printableLine(rows[index]?.at(-1) ?? '')}`);
    return {
      lines: [`${heading}\n    ${columns.at(-1)?.name ?? ''}`, ...named],
      leftOut: leftOut.map(({ name }) => name),
    };
  }
}
