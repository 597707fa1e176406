import { type FieldIndex, fieldIndex } from '../columns/header.ts';
import { type Header, headedByShape, headerOf } from '../file/csv-start.ts';
import type { Expected } from '../file/expected-file.ts';
import { cellsOf, type SheetRow } from './sheet-rows.ts';

/** The header of a sheet, or its first record if the header is not known. */
export interface SheetHeader {
  /** The number of the row in the sheet, from 1. */
  number: number;
  /** The first column, from 0. */
  first: number;
  cells: string[];
  header: Header;
}

export interface SheetStart {
  /** The sheet has at least one value. */
  filled: boolean;
  /** known: all texts of the header are listed. wide: the row only has the requested width. `null` = no such row. */
  kind: 'known' | 'wide' | null;
  header: SheetHeader | null;
}

/** The header must be one of the first rows with a value, up to this number. */
const FIRST_ROWS = 20;

/**
 * Finds the header of a sheet: the first row whose filled cells are all listed, at least two (one if one column was
 * requested). If there is none, the first row with the requested width is used.
 */
export async function findHeader(rows: AsyncIterable<SheetRow>, expected: Expected): Promise<SheetStart> {
  const index = fieldIndex(expected);
  const { headerless } = expected;
  const first: SheetRow[] = [];
  for await (const row of rows) {
    first.push(row);
    if (first.length === FIRST_ROWS) break;
  }
  const extents = first.flatMap((row) => extentOf(row, index) ?? []);
  const known = headerless ? undefined : extents.find(({ cells }) => index.readHeader(cells).unlisted.length === 0);
  if (known) return { filled: true, kind: 'known', header: { ...known, header: headerOf(known.cells, true, index) } };
  const wide = extents.find(({ cells }) => cells.length === index.width);
  if (!wide) return { filled: first.length > 0, kind: null, header: null };
  const below = first.find(({ number }) => number > wide.number);
  const second = below ? cellsOf(below, wide.first, wide.cells.length) : [];
  const header = headerOf(wide.cells, headerless ? false : headedByShape(wide.cells, second, index), index);
  const number = headerless ? firstRecord(extents, wide) : wide.number;
  return { filled: true, kind: 'wide', header: { ...wide, number, header } };
}

/** The range of a row from the first to the last cell with a visible text. */
type Extent = Omit<SheetHeader, 'header'>;

/** `undefined` for a row with too few texts for a header: a single text is a title. */
function extentOf(row: SheetRow, { width }: FieldIndex): Extent | undefined {
  const filled = row.columns.filter((_, place) => row.texts[place]?.trim() !== '');
  const [first] = filled;
  if (first === undefined || filled.length < Math.min(2, width)) return undefined;
  return { number: row.number, first, cells: cellsOf(row, first, (filled.at(-1) ?? first) - first + 1) };
}

/** The number of the first record. Records before the row that shows the width may begin or end with empty cells. */
function firstRecord(extents: Extent[], { first, cells, number }: Extent): number {
  const end = first + cells.length;
  return extents.find((extent) => extent.first >= first && extent.first + extent.cells.length <= end)?.number ?? number;
}
