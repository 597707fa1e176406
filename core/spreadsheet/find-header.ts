import type { FieldIndex, ReadHeader } from '../columns/header.ts';
import { headedByLook } from '../file/csv-start.ts';
import { cellsOf, type SheetRow } from './sheet-rows.ts';

/** The header of a sheet, or its first record if the header is not known. */
export interface SheetHeader {
  /** The number of the row in the sheet, from 1. */
  number: number;
  /** The first column, from 0. */
  first: number;
  width: number;
  /** The cells of the header, or of the first record with the requested width. */
  cells: string[];
  /** The row names the columns; `null` = not known. */
  headed: boolean | null;
  found: ReadHeader;
}

export interface SheetStart {
  /** The sheet has at least one value. */
  filled: boolean;
  /** known: all texts of the header are listed. wide: the row only has the requested width. `null` = no such row. */
  kind: 'known' | 'wide' | null;
  header: SheetHeader | null;
}

export interface ExpectedSheet {
  index: FieldIndex;
  /** All rows are records (`columns.header: "none"`). */
  headerless: boolean;
}

/** The header must be one of the first rows with a value, up to this number. */
const FIRST_ROWS = 20;

/**
 * Finds the header of a sheet: the first row whose filled cells are all listed, at least two (one if one column was
 * requested). If there is none, the first row with the requested width is used.
 */
export async function findHeader(
  rows: AsyncIterable<SheetRow>,
  { index, headerless }: ExpectedSheet,
): Promise<SheetStart> {
  const extents: Extent[] = [];
  let count = 0;
  let wide: SheetHeader | undefined;
  let second: SheetRow | undefined;
  for await (const row of rows) {
    if (count === FIRST_ROWS || (headerless && second)) break;
    count += 1;
    second ??= wide && row;
    const extent = extentOf(row, index.width);
    if (!extent) continue;
    extents.push(extent);
    const header = headerOf(row, extent, index);
    if (header.headed && !headerless) return { filled: true, kind: 'known', header };
    if (header.width === index.width) wide ??= header;
  }
  if (!wide) return { filled: count > 0, kind: null, header: null };
  const header = headerless ? asRecord(extents, wide) : { ...wide, headed: byLook(wide, second, index) };
  return { filled: true, kind: 'wide', header };
}

/** Whether a row is a header. The row after it may show that both are data. */
function byLook({ cells, first, width }: SheetHeader, second: SheetRow | undefined, index: FieldIndex): boolean | null {
  return headedByLook(cells, second ? cellsOf(second, first, width) : [], index);
}

/** The range from the first to the last cell with a visible text. */
interface Extent {
  number: number;
  first: number;
  last: number;
}

/** `undefined` for a row with too few texts for a header: a single text is a title. */
function extentOf({ number, columns, texts }: SheetRow, requested: number): Extent | undefined {
  const filled = columns.filter((_, place) => texts[place]?.trim() !== '');
  const first = filled[0];
  const last = filled.at(-1);
  if (first === undefined || last === undefined || filled.length < Math.min(2, requested)) return undefined;
  return { number, first, last };
}

function headerOf(row: SheetRow, { number, first, last }: Extent, index: FieldIndex): SheetHeader {
  const width = last - first + 1;
  const cells = cellsOf(row, first, width);
  const found = index.readHeader(cells);
  return { number, first, width, cells, headed: found.unlisted.length === 0 ? true : null, found };
}

/** The first record. Records before the row that shows the width may begin or end with empty cells. */
function asRecord(extents: Extent[], wide: SheetHeader): SheetHeader {
  const { first, width } = wide;
  const within = extents.find((extent) => extent.first >= first && extent.last < first + width);
  return { ...wide, number: Math.min(wide.number, within?.number ?? wide.number), headed: false };
}
