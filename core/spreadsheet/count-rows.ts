import { createHash } from 'node:crypto';
import { type Content, UNSEEN } from '../gate/facts.ts';
import type { SheetHeader } from './find-header.ts';
import { cellsOf, LAST_ROW, type SheetRow } from './sheet-row.ts';

/** What the rows of a sheet are, below its header and above it. */
export interface RowCount {
  content: Content;
  /** Rows above the header that may be records: they have values in all of its columns, or beyond them. */
  recordsAbove: number;
  /** The last row has far fewer values than any other. */
  endsThin: boolean;
}

/** One value above one column is a title. Two above two may be a record: beside `except`, what cannot be told apart does not pass. */
const NARROWEST_RECORD_ABOVE = 2;

/** Fewer rows behind the header prove no usual width, which a thin last row could be compared with. */
const FEWEST_COMPARED = 3;

/** Reads all rows of a sheet of which the header was found. */
export async function countRows(rows: AsyncIterable<SheetRow>, header: SheetHeader): Promise<RowCount> {
  const count = new RowCounter(header);
  for await (const row of rows) count.add(row);
  return count.result();
}

class RowCounter {
  private readonly header: SheetHeader;
  private readonly end: number;
  /** Columns of the sheet without a text in the header. */
  private readonly nameless: ReadonlySet<number>;
  private readonly unnamed = new Set<number>();
  private readonly texts: string[];
  private rowsAbove = 0;
  private recordsAbove = 0;
  private records = 0;
  private longer = 0;
  private repeated = 0;
  private last: SheetRow = { number: 0, columns: [], texts: [] };
  /** Values of the rows before the last one. */
  private fewest = Number.POSITIVE_INFINITY;

  constructor(header: SheetHeader) {
    this.header = header;
    this.end = header.first + header.width;
    this.texts = header.cells.filter((cell) => cell !== '');
    const nameless = header.headed === false ? [] : header.found.unnamed;
    this.nameless = new Set(nameless.map((place) => header.first + place));
  }

  add(row: SheetRow): void {
    if (row.number < this.header.number) this.addAbove(row);
    else this.addRecord(row);
  }

  private addRecord(row: SheetRow): void {
    this.records += 1;
    if (row.number === this.header.number && this.header.headed !== false) return;
    if (this.last.number > 0) this.fewest = Math.min(this.fewest, this.last.columns.length);
    this.last = row;
    if ((row.columns.at(-1) ?? 0) >= this.end) this.longer += 1;
    if (this.header.headed !== false && this.isHeader(row)) this.repeated += 1;
    if (this.nameless.size > 0 || (row.columns[0] ?? 0) < this.header.first) this.findUnnamed(row);
  }

  result(): RowCount {
    const { headed, width, cells, found } = this.header;
    // A row, or a header that is known.
    const told = headed === false || (headed === true && found.names !== null);
    const behind = headed === false ? this.records : this.records - 1;
    const cellsOfLast = Math.max(0, (this.last.columns.at(-1) ?? 0) - this.header.first + 1);
    const content: Content = {
      ...UNSEEN,
      rows: headed === null ? null : behind,
      width,
      headed,
      records: this.records,
      rowsAbove: this.rowsAbove,
      firstRecord: told ? null : digestOf(cells),
      unnamed: this.unnamed.size,
      longer: this.longer,
      irregular: this.longer,
      ending: { cells: this.last.number > 0 ? cellsOfLast : width, lineBreak: true },
      repeatedHeaders: this.repeated,
      fullSheet: this.last.number === LAST_ROW,
    };
    const endsThin = behind > FEWEST_COMPARED && 2 * this.last.columns.length < this.fewest;
    return { content, recordsAbove: this.recordsAbove, endsThin };
  }

  private addAbove({ columns }: SheetRow): void {
    this.rowsAbove += 1;
    const { first, width } = this.header;
    const within = columns.filter((column) => column >= first && column < this.end).length;
    const full = width >= NARROWEST_RECORD_ABOVE && within === width;
    if (full || (columns.at(-1) ?? 0) >= this.end) this.recordsAbove += 1;
  }

  private isHeader(row: SheetRow): boolean {
    if (row.texts.length !== this.texts.length || row.texts[0] !== this.texts[0]) return false;
    const { first, width, cells } = this.header;
    return cellsOf(row, first, width).every((cell, place) => cell === cells[place]);
  }

  private findUnnamed({ columns }: SheetRow): void {
    for (const column of columns) {
      if (column < this.header.first || this.nameless.has(column)) this.unnamed.add(column);
    }
  }
}

function digestOf(cells: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(cells)).digest('hex');
}
