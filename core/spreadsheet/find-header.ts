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
export async function findHeader(rows: AsyncIterable<SheetRow>, expected: ExpectedSheet): Promise<SheetStart> {
  const search = new HeaderSearch(expected);
  for await (const row of rows) if (search.isDone(row)) break;
  return search.result();
}

class HeaderSearch {
  private readonly expected: ExpectedSheet;
  private readonly extents: Extent[] = [];
  private count = 0;
  private known: SheetHeader | null = null;
  private wide: SheetHeader | null = null;
  /** The row after the first wide one. */
  private second: SheetRow | null = null;

  constructor(expected: ExpectedSheet) {
    this.expected = expected;
  }

  /** @returns whether the search needs no more rows */
  isDone(row: SheetRow): boolean {
    const { index, headerless } = this.expected;
    this.count += 1;
    if (this.wide) this.second ??= row;
    const extent = extentOf(row, index.width);
    if (extent) this.look(headerOf(row, extent, index), extent);
    return this.known !== null || this.count === FIRST_ROWS || (headerless && this.second !== null);
  }

  result(): SheetStart {
    const { known, wide, second, count, extents } = this;
    const { index, headerless } = this.expected;
    if (known) return { filled: true, kind: 'known', header: known };
    if (!wide) return { filled: count > 0, kind: null, header: null };
    const number = headerless ? firstRecord(extents, wide) : wide.number;
    const headed = headerless ? false : byLook(wide, second, index);
    return { filled: true, kind: 'wide', header: { ...wide, number, headed } };
  }

  private look(header: SheetHeader, extent: Extent): void {
    this.extents.push(extent);
    if (header.headed && !this.expected.headerless) this.known = header;
    else if (header.width === this.expected.index.width) this.wide ??= header;
  }
}

/** Decides whether a row is a header. The row after it may show that both are data. */
function byLook({ cells, first, width }: SheetHeader, second: SheetRow | null, index: FieldIndex): boolean | null {
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
function firstRecord(extents: Extent[], { number, first, width }: SheetHeader): number {
  const within = extents.find((extent) => extent.first >= first && extent.last < first + width);
  return Math.min(number, within?.number ?? number);
}
