import { headedByLook } from '../files/csv-start.ts';
import type { FieldIndex, ReadHeader } from '../files/field-names.ts';
import { cellsOf, type SheetRow } from './sheet-row.ts';

/** Where the records of a sheet begin. */
export interface SheetHeader {
  /** Of the row, as the sheet counts. */
  number: number;
  /** The first column, counted from 0. */
  first: number;
  width: number;
  /** Of the row: the header, or the first record as wide as requested. */
  cells: string[];
  /** The row names the columns; `null` = not known. */
  headed: boolean | null;
  found: ReadHeader;
}

export interface SheetStart {
  /** There is a value in the sheet. */
  filled: boolean;
  /** known: all its texts are listed. wide: it is only as wide as requested. `null` = there is none. */
  kind: 'known' | 'wide' | null;
  header: SheetHeader | null;
}

export interface ExpectedSheet {
  index: FieldIndex;
  /** All rows are records (`columns.header: "none"`). */
  headerless: boolean;
}

/** A header stands among the first so many rows with a value. */
const FIRST_ROWS = 20;

/**
 * Finds the header of a sheet: the first row with at least two filled cells (one where one column was requested) of which all
 * are listed; else the first as wide as requested.
 */
export async function findHeader(
  rows: AsyncIterable<SheetRow>,
  { index, headerless }: ExpectedSheet,
): Promise<SheetStart> {
  const extents: Extent[] = [];
  let [wide, second]: [SheetHeader | null, SheetRow | null] = [null, null];
  let count = 0;
  for await (const row of rows) {
    count += 1;
    if (wide) second ??= row;
    const extent = extentOf(row, index.width);
    if (extent) {
      extents.push(extent);
      const header = headerOf(row, extent, index);
      if (!headerless && header.found.unlisted.length === 0)
        return { filled: true, kind: 'known', header: { ...header, headed: true } };
      if (header.width === index.width) wide ??= header;
    }
    if (count === FIRST_ROWS || (wide && second && headerless)) break;
  }
  if (!wide) return { filled: count > 0, kind: null, header: null };
  const header = headerless
    ? { ...wide, headed: false, number: firstRecord(extents, wide) }
    : { ...wide, headed: headedByLook(wide.cells, second ? cellsOf(second, wide.first, wide.width) : [], index) };
  return { filled: true, kind: 'wide', header };
}

/** Cells with a visible text, from the first to the last. */
interface Extent {
  number: number;
  first: number;
  last: number;
}

/** `undefined` for a row that is too empty for a header: one text alone is a title. */
function extentOf({ number, columns, texts }: SheetRow, requested: number): Extent | undefined {
  const filled = columns.filter((_, place) => texts[place]?.trim() !== '');
  const [first, last] = [filled[0], filled.at(-1)];
  if (first === undefined || last === undefined || filled.length < Math.min(2, requested)) return undefined;
  return { number, first, last };
}

function headerOf(row: SheetRow, { number, first, last }: Extent, index: FieldIndex): SheetHeader {
  const width = last - first + 1;
  const cells = cellsOf(row, first, width);
  return { number, first, width, cells, headed: null, found: index.readHeader(cells) };
}

/** Records before the one that shows their width may end, or begin, with empty cells. */
function firstRecord(extents: Extent[], { number, first, width }: SheetHeader): number {
  const within = extents.find((extent) => extent.first >= first && extent.last < first + width);
  return Math.min(number, within?.number ?? number);
}
