import type { Expected } from '../file/expected-file.ts';
import { LaterHeaders } from '../file/later-headers.ts';
import { type Content, UNSEEN } from '../gate/facts.ts';
import type { SheetHeader } from './find-header.ts';
import { cellsOf, LAST_ROW, type SheetRow } from './sheet-rows.ts';

/** The counts of the rows below and above the header of a sheet. */
export interface RowCount {
  content: Content;
  /** Rows above the header that may be records: they have values in all of its columns, or to the right of them. */
  recordsAbove: number;
}

/** A value above one column is a title. Two values above two columns may be a record, so they are reported. */
const NARROWEST_RECORD_ABOVE = 2;

/** With fewer rows below the header there is no usual width to compare the last row with. */
const FEWEST_COMPARED = 3;

/** Counts the rows of a sheet whose header was found. */
export class RowCounter {
  private readonly header: SheetHeader;
  private readonly end: number;
  /** Columns of the sheet whose header cell has no text. */
  private readonly nameless: ReadonlySet<number>;
  private readonly unnamed = new Set<number>();
  private readonly later: LaterHeaders;
  private rowsAbove = 0;
  private recordsAbove = 0;
  private records = 0;
  private longer = 0;
  private irregular = 0;
  private last: SheetRow = { number: 0, columns: [], texts: [] };
  /** The number of the last row with a value, and whether the rows below the header have a gap. */
  private lastNumber = 0;
  private behindGap = false;
  /** Fewest values of a row before the last one, and whether any such row begins with several words. */
  private fewest = Number.POSITIVE_INFINITY;
  private beginsWithWords = false;

  constructor(header: SheetHeader, expected: Expected) {
    const { first, cells, header: known } = header;
    this.header = header;
    this.end = first + cells.length;
    this.nameless = new Set(known.unnamed.map((place) => first + place));
    this.later = new LaterHeaders(expected, known.index, known.counts.headed === false ? [] : cells, 'utf-8', true);
  }

  add(row: SheetRow): void {
    if (row.number < this.header.number) this.addAbove(row);
    else if (row.number === this.header.number && this.header.header.counts.headed !== false) this.records += 1;
    else this.addBelow(row);
    this.lastNumber = row.number;
  }

  private addBelow(row: SheetRow): void {
    const { columns } = row;
    const [begin = 0] = columns;
    const last = columns.at(-1) ?? 0;
    const longer = last >= this.end;
    if (longer) this.longer += 1;
    if (this.nameless.size > 0 || begin < this.header.first) this.findUnnamed(row);
    this.lookForHeader(row, begin, last);
    if (!columns.some((column) => this.isUnderHeader(column))) return;
    if (this.last.number > 0 && row.number > this.last.number + 1) this.behindGap = true;
    this.records += 1;
    if (longer || this.behindGap) this.irregular += 1;
    if (this.last.number > 0) {
      this.fewest = Math.min(this.fewest, this.last.columns.length);
      this.beginsWithWords ||= beginsWithWords(this.last);
    }
    this.last = row;
  }

  private lookForHeader(row: SheetRow, begin: number, last: number): void {
    const { first } = this.header;
    const counts = this.later.filter.countsOf(row.texts);
    if (!this.later.mayBe(counts)) return;
    const column = Math.min(0, begin - first);
    const record = cellsOf(row, first + column, last - first - column + 1);
    this.later.judge(counts, JSON.stringify([column, record]), () => ({ record, column }));
  }

  private isUnderHeader(column: number): boolean {
    return column >= this.header.first && column < this.end && !this.nameless.has(column);
  }

  result(): RowCount {
    const { counts } = this.header.header;
    const later = this.later.counts;
    const behind = (counts.headed === false ? this.records : this.records - 1) - later.repeatedHeaders;
    const cellsOfLast = Math.max(0, (this.last.columns.at(-1) ?? 0) - this.header.first + 1);
    const content: Content = {
      ...UNSEEN,
      ...counts,
      records: this.records,
      rowsAbove: this.rowsAbove,
      unnamed: this.unnamed.size,
      longer: this.longer,
      irregular: this.irregular,
      ending: { cells: this.last.number > 0 ? cellsOfLast : this.header.cells.length, lineBreak: true },
      endsThin: this.endsThin(behind),
      ...later,
      fullSheet: this.lastNumber === LAST_ROW,
    };
    return { content, recordsAbove: this.recordsAbove };
  }

  /** Whether the last row may be an error message: it has far fewer values than the others, or is the only sentence. */
  private endsThin(behind: number): boolean {
    const { length } = this.last.columns;
    if (behind <= FEWEST_COMPARED) return false;
    if (2 * length < this.fewest) return true;
    return length === 1 && this.fewest > 1 && !this.beginsWithWords && beginsWithWords(this.last);
  }

  private addAbove({ columns }: SheetRow): void {
    this.rowsAbove += 1;
    const { first, cells } = this.header;
    const within = columns.filter((column) => column >= first && column < this.end).length;
    const full = within >= NARROWEST_RECORD_ABOVE && within === cells.length;
    if (full || (columns.at(-1) ?? 0) >= this.end) this.recordsAbove += 1;
  }

  private findUnnamed({ columns }: SheetRow): void {
    for (const column of columns) {
      if (column < this.header.first || this.nameless.has(column)) this.unnamed.add(column);
    }
  }
}

const beginsWithWords = ({ texts }: SheetRow) => /\s/.test(texts[0]?.trim() ?? '');
