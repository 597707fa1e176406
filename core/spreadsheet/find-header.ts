import type { FieldIndex, ReadHeader } from '../columns/header.ts';
import { headedByLook } from '../file/csv-start.ts';
import { cellsOf, type SheetRow } from './sheet-rows.ts';

/** Where the records of a sheet begin. */
export interface SheetHeader {
  /** The number of the row, as the sheet counts. */
  number: number;
  /** The first column, counted from 0. */
  first: number;
  width: number;
  /** The cells of that row: the header, or the first record as wide as requested. */
  cells: string[];
  /** The row names the columns; `null` = not known. */
  headed: boolean | null;
  found: ReadHeader;
}

export interface SheetStart {
  /** The sheet has a value. */
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
  /** The row behind the first one. */
  private second: SheetRow | null = null;

  constructor(expected: ExpectedSheet) {
    this.expected = expected;
  }

  /** @returns whether no further row has to be seen */
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

/** The row behind it may show that both are data. */
function byLook({ cells, first, width }: SheetHeader, second: SheetRow | null, index: FieldIndex): boolean | null {
  return headedByLook(cells, second ? cellsOf(second, first, width) : [], index);
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

/** Records before the one that shows their width may end, or begin, with empty cells. */
function firstRecord(extents: Extent[], { number, first, width }: SheetHeader): number {
  const within = extents.find((extent) => extent.first >= first && extent.last < first + width);
  return Math.min(number, within?.number ?? number);
}
