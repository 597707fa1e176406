import { type FieldIndex, fieldIndex, remembered } from '../columns/header.ts';
import { countText } from '../count-text.ts';
import { FIRST_RECORDS, type Header, headedByShape, headerOf, namesMost } from '../file/csv-start.ts';
import { errorWarnings, isErrorRow, isSheetError } from '../file/error-text.ts';
import type { Expected } from '../file/expected-file.ts';
import { LaterHeaders } from '../file/later-headers.ts';
import { UnreadableFile } from '../file/unreadable-file.ts';
import { isFilled } from '../folded.ts';
import { CONTENT_NOT_READ, type Content, type Facts, rowsIn } from '../gate/facts.ts';
import { AllowedText } from './allowed-text.ts';
import { cellsOf, LAST_ROW, type SheetFindings, type SheetRow } from './sheet-rows.ts';
import { partsWithValues, textOutsideSheets } from './text-outside-sheets.ts';
import type { Sheet, Workbook } from './workbook.ts';

/**
 * Reads a workbook (xlsx) to its end: rows, widths and header of the counted sheet, and whether other parts have text.
 * All parts are read, so that any damage is found.
 * @returns `undefined` if no sheet has a value
 * @throws UnreadableFile if the workbook is damaged, or has no header and no row with the requested width;
 *   ReadingUnfinished if it exceeds the limits; any error from reading the source
 */
export async function sheetFacts(workbook: Workbook, expected: Expected): Promise<ReadSheet | undefined> {
  const { sheet: wanted, otherSheets: allowed = [] } = expected;
  const starts = await startsOf(workbook, expected);
  const counted = countedSheet(starts, expected);
  // Reads the allowed other sheets, so that their shared texts do not count as unused.
  const excused = starts.filter((start) => start !== counted && allowed.includes(start.sheet.name));
  for (const { sheet } of excused) for await (const _ of sheet.rows());
  const others = starts.filter((start) => start !== counted && !excused.includes(start));
  const filled = others.filter(({ filled }) => filled);
  const otherSheets = filled.map(({ sheet: { visible } }) => (visible ? 'other sheets' : 'hidden sheets'));
  const besides = [...otherSheets, ...partsWithValues(workbook)];
  if (!counted?.header) {
    await workbook.archive.verify();
    if (starts.some(({ filled }) => filled) || besides.length > 0) throw noHeader(expected);
    return undefined;
  }
  const { sheet, header } = counted;
  const names = {
    settings: new Set([...allowed, wanted ?? []].flat()),
    mentioned: new Set([...workbook.sheets.map(({ name }) => name), ...header.cells]),
  };
  const text = new AllowedText('worksheet', names);
  const findings: SheetFindings = { unknownResults: 0, text };
  const counter = new RowCounter(header, expected);
  for await (const row of sheet.rows(findings)) counter.add(row);
  const { content, recordsAbove } = counter;
  await workbook.archive.verify();
  const hasUnused = workbook.strings.unused() > 0;
  const outside = [
    ...(recordsAbove > 0 ? ['rows above its header that may be records'] : []),
    // If other sheets have values, shared texts that only those sheets use do not count as unused.
    ...(hasUnused && besides.length === 0 ? ['texts that no cell uses'] : []),
    ...(workbook.archive.hasUnlisted() ? ['bytes outside of its parts'] : []),
  ];
  const elsewhere = [
    ...otherSheets,
    ...others.flatMap(({ filled, text }) => (filled ? [] : [...text])),
    ...text.found,
    ...(await textOutsideSheets(workbook, names)),
    ...outside,
  ];
  // Visible sheets that match the request as well as the counted sheet.
  const alike = [counted, ...others].filter(
    (start) => start.sheet.visible && start.header?.allListed === header.allListed,
  );
  return {
    header: header.header.names,
    rows: rowsIn(content, content.headed),
    content: {
      ...content,
      place: { sheet: starts.indexOf(counted) + 1, row: header.number, column: header.first + 1 },
      sheets: wanted === undefined ? alike.length : 1,
      elsewhere: elsewhere.length,
      elsewhereKinds: [...new Set(elsewhere)].toSorted(),
    },
    warnings: [
      ...warningsOf([...besides, ...outside], findings),
      ...errorWarnings(counter.errors, isErrorRow(counter.withFirst(counter.last))),
    ],
  };
}

/** The facts about the counted sheet, and warnings for readers, in sentences. */
type ReadSheet = Pick<Facts, 'header' | 'rows'> & { content: Content; warnings: string[] };

interface Start {
  sheet: Sheet;
  /** Where the workbook has text outside the cells of the sheet, in words. */
  text: ReadonlySet<string>;
  /** The sheet has at least one value. */
  filled: boolean;
  header: SheetHeader | null;
}

async function startsOf({ sheets }: Workbook, expected: Expected): Promise<Start[]> {
  const starts: Start[] = [];
  for (const sheet of sheets) {
    const text = new AllowedText('worksheet');
    const rows = sheet.rows({ unknownResults: 0, text });
    starts.push({ sheet, text: text.found, ...(await findHeader(rows, expected)) });
  }
  return starts;
}

/** @throws UnreadableFile if the sheet of the settings does not exist */
function countedSheet(starts: Start[], { sheet: wanted, otherSheets = [] }: Expected): Start | undefined {
  if (wanted !== undefined) {
    const named = starts.find(({ sheet: { name } }) => name === wanted);
    if (!named) throw new UnreadableFile('does not have the sheet that columns.sheet names');
    return named;
  }
  const visible = starts.filter(({ sheet }) => sheet.visible && !otherSheets.includes(sheet.name));
  return visible.find(({ header }) => header?.allListed) ?? visible.find(({ header }) => header);
}

/** Warnings for readers of the sheet, in sentences that quote nothing of it. */
function warningsOf(besides: readonly string[], { unknownResults }: SheetFindings): string[] {
  const kinds = [...Map.groupBy(besides, (kind) => kind)].map(([kind, { length }]) =>
    length === 1 ? kind : `${kind} (${length})`,
  );
  return [
    ...(kinds.length > 0 ? [`The workbook has values besides the rows of its sheet: ${kinds.join(', ')}.`] : []),
    ...(unknownResults > 0
      ? [
          `The file has no result for the formula of ${countText(unknownResults, 'cell')}, and an empty text is read instead.`,
        ]
      : []),
  ];
}

function noHeader({ columns: { length: width }, headerless, sheet }: Expected): UnreadableFile {
  const header = headerless ? '' : 'no header of listed columns and ';
  const wide = `no row of ${width} ${width === 1 ? 'column' : 'columns'} (the requested number)`;
  const where = sheet === undefined ? 'a visible sheet' : 'the sheet of columns.sheet';
  const part = headerless ? undefined : 'header';
  return new UnreadableFile(`has ${header}${wide} among the first ${FIRST_RECORDS} rows of ${where}`, part);
}

/** The header of a sheet, or its first record if the header is not known. */
interface SheetHeader {
  /** The number of the row in the sheet, from 1. */
  number: number;
  /** The first column, from 0. */
  first: number;
  cells: string[];
  /** Whether all texts of the row are listed. Otherwise the row only has the requested width. */
  allListed: boolean;
  header: Header;
}

/**
 * Finds the header of a sheet. It is the first row with at least two filled cells (one if one column was requested)
 * that are all listed. Without such a row, it is the first row with mostly listed cells, or else the first row of the
 * requested width.
 */
async function findHeader(
  rows: AsyncIterable<SheetRow>,
  expected: Expected,
): Promise<Pick<Start, 'filled' | 'header'>> {
  const index = fieldIndex(expected);
  const { headerless } = expected;
  const first: SheetRow[] = [];
  for await (const row of rows) {
    first.push(row);
    if (first.length === FIRST_RECORDS) break;
  }
  const extents = first.flatMap((row) => extentOf(row, index) ?? []);
  const headers = headerless ? [] : extents;
  const listed = headers.find(({ cells }) => index.readHeader(cells).unlisted.length === 0);
  const named = listed ?? headers.find(({ cells }) => namesMost(cells, index));
  const found = named ?? extents.find(({ cells }) => cells.length === index.width);
  if (!found) return { filled: first.length > 0, header: null };
  const below = first.find(({ number }) => number > found.number);
  const second = below ? cellsOf(below, found.first, found.cells.length) : [];
  const headed = headerless ? false : named ? true : headedByShape(found.cells, second, index);
  // Records before the row that shows the width may begin or end with empty cells.
  const { number } = (headerless && extents[0]) || found;
  const header = headerOf(found.cells, headed, index);
  return { filled: true, header: { ...found, number, allListed: listed !== undefined, header } };
}

/** The range of a row from the first to the last cell with a visible text. */
type Extent = Omit<SheetHeader, 'allListed' | 'header'>;

/** `undefined` for a row with too few texts for a header: a single text is a title. */
function extentOf(row: SheetRow, { width }: FieldIndex): Extent | undefined {
  const filled = row.columns.filter((_, place) => isFilled(row.texts[place] ?? ''));
  const [first] = filled;
  if (first === undefined || filled.length < Math.min(2, width)) return undefined;
  return { number: row.number, first, cells: cellsOf(row, first, (filled.at(-1) ?? first) - first + 1) };
}

/** A value above one column is a title. Two values above two columns may be a record, so they are reported. */
const NARROWEST_RECORD_ABOVE = 2;

/** With fewer rows below the header there is no usual width to compare the last row with. */
const FEWEST_COMPARED = 3;

/** Counts the rows of a sheet whose header was found. */
class RowCounter {
  private readonly header: SheetHeader;
  private readonly end: number;
  /** Columns of the sheet whose header cell has no text. */
  private readonly nameless: ReadonlySet<number>;
  private readonly unnamed = new Set<number>();
  private readonly later: LaterHeaders;
  /** Judges a row with one text, by whether it is below a gap. */
  private readonly judgeText = {
    true: remembered((text) => this.later.judgeText(text, true)),
    false: remembered((text) => this.later.judgeText(text, false)),
  };
  private rowsAbove = 0;
  /** Rows above the header that may be records: they have as many values, or values to the right of it. */
  recordsAbove = 0;
  private records = 0;
  private longer = 0;
  private irregular = 0;
  /** Rows that begin with the text of an error. */
  errors = 0;
  /** The last row with a value below the header. */
  last: SheetRow = { number: 0, columns: [], texts: [] };
  /** The number of the last row with a value, and whether the rows below the header have a gap. */
  private lastNumber = 0;
  /** The last row below the header has neither letters nor digits. */
  private lastIsEmpty = false;
  private isBelowGap = false;
  /** The fewest values in a row, the leftmost end of a row, and whether a row begins with several words. */
  private fewest = Number.POSITIVE_INFINITY;
  private firstEnd = Number.POSITIVE_INFINITY;
  private beginsWithWords = false;
  private thinRows = 0;

  constructor(header: SheetHeader, expected: Expected) {
    const { first, cells, header: start } = header;
    this.header = header;
    this.end = first + cells.length;
    this.nameless = new Set(start.unnamed.map((place) => first + place));
    this.later = new LaterHeaders(expected, start.index, start.counts.headed === false ? [] : cells, 'utf-8', true);
  }

  add(row: SheetRow): void {
    if (row.number < this.header.number) this.addAbove(row);
    else if (row.number === this.header.number && this.header.header.counts.headed !== false) this.records += 1;
    else this.addBelow(this.valuesOf(row));
    this.lastNumber = row.number;
  }

  /** The row without blank cells outside of the named columns, which are not values. */
  private valuesOf(row: SheetRow): SheetRow {
    const { columns, texts } = row;
    const isValue = (column: number, at: number) => this.isUnderHeader(column) || isFilled(texts[at] ?? '');
    if (columns.every(isValue)) return row;
    return { ...row, columns: columns.filter(isValue), texts: texts.filter((_, at) => isValue(columns[at] ?? 0, at)) };
  }

  private addBelow(row: SheetRow): void {
    const { columns } = row;
    const [begin = 0] = columns;
    const last = columns.at(-1) ?? 0;
    const longer = last >= this.end;
    if (longer) this.longer += 1;
    if (this.nameless.size > 0 || begin < this.header.first) this.findUnnamed(row);
    this.checkHeader(row, begin, last);
    if (!columns.some((column) => this.isUnderHeader(column))) return;
    if (this.last.number > 0 && row.number > this.lastNumber + 1) this.isBelowGap = true;
    this.records += 1;
    if (isSheetError(this.withFirst(row))) this.errors += 1;
    if (longer || this.isBelowGap) this.irregular += 1;
    this.thinRows = this.isThin(row, last) ? this.thinRows + 1 : 0;
    // Footers and error messages may have a few lines of text, which do not show how rows usually are.
    if (this.thinRows === 0 || columns.length > 1) {
      this.fewest = Math.min(this.fewest, columns.length, this.last.columns.length || columns.length);
      this.firstEnd = Math.min(this.firstEnd, last);
      this.beginsWithWords ||= beginsWithWords(row);
    }
    this.last = row;
  }

  private checkHeader(row: SheetRow, begin: number, last: number): void {
    const { first } = this.header;
    const counts = this.later.filter.countsOf(row.texts);
    const afterGap = this.lastIsEmpty || row.number > this.lastNumber + 1;
    this.lastIsEmpty = counts.empty === counts.cells;
    const column = Math.min(0, begin - first);
    const lower = () => ({ record: cellsOf(row, first + column, last - first - column + 1), column });
    const found = this.later.mayBe(counts) ? [this.later.judge(lower(), afterGap)] : [];
    const [whole = '', second] = row.texts;
    found.push(second === undefined ? this.judgeText[`${afterGap}`](whole) : this.later.judgeCells(row.texts));
    this.later.count(found);
  }

  /** The texts of a row, after an empty text if the row has no cell in the first column. */
  withFirst({ columns: [begin = 0], texts }: SheetRow): readonly string[] {
    return begin > this.header.first ? ['', ...texts] : texts;
  }

  private isUnderHeader(column: number): boolean {
    return column >= this.header.first && column < this.end && !this.nameless.has(column);
  }

  get content(): Content {
    const { counts } = this.header.header;
    const later = this.later.counts;
    const rowsBelow = (counts.headed === false ? this.records : this.records - 1) - later.repeatedHeaders;
    const cellsOfLast = Math.max(0, (this.last.columns.at(-1) ?? 0) - this.header.first + 1);
    return {
      ...CONTENT_NOT_READ,
      ...counts,
      records: this.records,
      rowsAbove: this.rowsAbove,
      unnamed: this.unnamed.size,
      longer: this.longer,
      irregular: this.irregular,
      ending: { cells: this.last.number > 0 ? cellsOfLast : this.header.cells.length, lineBreak: true },
      endsThin: this.thinRows > 0 && rowsBelow > FEWEST_COMPARED,
      ...later,
      fullSheet: this.lastNumber === LAST_ROW,
    };
  }

  /**
   * Whether a row may be cut off, or an error message: it has far fewer values than the rows before it and ends before
   * them, or only this row is a sentence. After `FEWEST_COMPARED` such rows, they count as usual.
   */
  private isThin(row: SheetRow, last: number): boolean {
    if (this.thinRows === FEWEST_COMPARED) return false;
    if (2 * row.columns.length < this.fewest && last < this.firstEnd) return Number.isFinite(this.fewest);
    return row.columns.length === 1 && this.fewest > 1 && !this.beginsWithWords && beginsWithWords(row);
  }

  private addAbove({ columns }: SheetRow): void {
    this.rowsAbove += 1;
    const isFull = columns.length >= Math.max(NARROWEST_RECORD_ABOVE, this.header.cells.length);
    if (isFull || (columns.at(-1) ?? 0) >= this.end) this.recordsAbove += 1;
  }

  private findUnnamed({ columns }: SheetRow): void {
    for (const column of columns) {
      if (column < this.header.first || this.nameless.has(column)) this.unnamed.add(column);
    }
  }
}

const beginsWithWords = ({ texts }: SheetRow) => /\s/.test(texts[0]?.trim() ?? '');
