/** What a sheet can have (Excel). */
export const LAST_ROW = 1_048_576;
export const LAST_COLUMN = 16_384;

/** The cells of a row that have a value, in order. */
export interface SheetRow {
  /** Counted from 1, as the sheet does. */
  number: number;
  /** Counted from 0. */
  columns: number[];
  /** The texts of the same cells. */
  texts: string[];
}

/** A row as its XML has it: some of its texts are numbers of shared ones, by the places of their cells. */
export interface RawRow extends SheetRow {
  shared: number[];
}

/** The cells from a column on, so many; empty ones are ''. */
export function cellsOf({ columns, texts }: SheetRow, first: number, width: number): string[] {
  const cells: string[] = new Array(width).fill('');
  for (let place = 0; place < columns.length; place += 1) {
    const at = (columns[place] ?? 0) - first;
    if (at >= 0 && at < width) cells[at] = texts[place] ?? '';
  }
  return cells;
}
