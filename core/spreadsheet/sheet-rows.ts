import { UnreadableFile } from '../file/unreadable-file.ts';
import type { AllowedText } from './allowed-text.ts';
import { type Calendar, type NumberFormat, numberText, unescaped } from './cell-text.ts';
import { LONGEST_TEXT, type SharedStrings } from './shared-strings.ts';
import { type Attributes, type RegularElements, UNESCAPED_TEXT, type XmlHandler, XmlReader } from './xml.ts';

/** The limits of a sheet in Excel. */
export const LAST_ROW = 1_048_576;
export const LAST_COLUMN = 16_384;

/** The cells of a row that have a value, in order. */
export interface SheetRow {
  /** The number of the row in the sheet, from 1. */
  number: number;
  /** The columns of the cells, from 0. */
  columns: number[];
  /** The texts of the cells, in the order of `columns`. */
  texts: string[];
}

/** The texts of `width` cells from the column `first` on; '' for an empty cell. */
export function cellsOf({ columns, texts }: SheetRow, first: number, width: number): string[] {
  const cells: string[] = new Array(width).fill('');
  for (let place = 0; place < columns.length; place += 1) {
    const at = (columns[place] ?? 0) - first;
    if (at >= 0 && at < width) cells[at] = texts[place] ?? '';
  }
  return cells;
}

/** The parts of a workbook that its cells refer to. */
export interface CellContext {
  calendar: Calendar;
  /** The number formats, by the number of the style. */
  formats: readonly NumberFormat[];
  strings: SharedStrings;
}

/** Findings in a sheet besides its values. */
export interface SheetFindings {
  /** Cells with a formula whose result is not in the file. */
  unknownResults: number;
  /** Finds text outside the values of cells. */
  text?: AllowedText;
}

/** The size of a piece of XML. Its rows are so few that the young generation of the garbage collector can free them. */
const PIECE_BYTES = 16 * 1024;
/**
 * The most characters of shared texts in the rows of a piece. Without this limit, many cells could refer to one long
 * text.
 */
const MOST_SHARED = 64 * 1024 * 1024;

/**
 * Streams the rows of a sheet that have a value.
 * @param findings collects the findings
 * @throws UnreadableFile; any error from reading the bytes
 */
export async function* sheetRows(
  chunks: AsyncIterable<Uint8Array>,
  context: CellContext,
  findings: SheetFindings = { unknownResults: 0 },
): AsyncGenerator<SheetRow> {
  const reader = new SheetReader(context, findings);
  const xml = new XmlReader(reader, findings.text);
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
      xml.write(chunk.subarray(at, at + PIECE_BYTES));
      yield* reader.takeRows();
    }
  }
  xml.end();
  yield* reader.takeRows();
}

/** A cell that has only a value or a text, so `allowed-text.ts` allows it. */
const CELL = new RegExp(
  `<c r="([A-Z]{1,3}\\d{1,7})"(?: s="(\\d{1,6})")?(?: t="([snbe]|str|inlineStr)")?>(?:<v>(${UNESCAPED_TEXT})</v>|<is><t>(${UNESCAPED_TEXT})</t></is>)</c>`,
  'y',
);

const GENERAL: NumberFormat = { shown: 'number', mask: null };

class SheetReader implements XmlHandler {
  private readonly context: CellContext;
  private readonly findings: SheetFindings;
  private rows: SheetRow[] = [];
  private shared = 0;
  private inData = false;
  private inRow = false;
  private row: SheetRow = { number: 0, columns: [], texts: [] };
  private size = 0;
  private column = -1;
  private type = 'n';
  private style = 0;
  private value = '';
  private collects = false;
  private hasFormula = false;
  private hasInline = false;

  constructor(context: CellContext, findings: SheetFindings) {
    this.context = context;
    this.findings = findings;
  }

  readonly regular: RegularElements = {
    pattern: CELL,
    mayFollow: (depth) => depth === 3 && this.inRow,
    take: ([, place, style, type, value = '', text]) => {
      this.beginCell(place, text === undefined ? type : 'inlineStr', style);
      this.value = text ?? value;
      this.endCell();
    },
  };

  takeRows(): SheetRow[] {
    const { rows } = this;
    this.rows = [];
    this.shared = 0;
    return rows;
  }

  open(name: string, depth: number, attributes: Attributes, parent: string): void {
    this.collects = false;
    if (depth === 1 && name !== 'worksheet') throw new UnreadableFile('has a sheet whose part is not a worksheet');
    if (depth === 2) this.inData = name === 'sheetData';
    if (depth === 3) this.inRow = this.inData && name === 'row';
    if (!this.inData) return;
    if (depth === 3 && name === 'row') this.beginRow(attributes.r);
    else if (depth === 4 && name === 'c') this.beginCell(attributes.r, attributes.t, attributes.s);
    else if (depth === 5) this.beginPart(name);
    // The text of a cell is direct or in formatted runs. Phonetic runs (`rPh`) are left out.
    else if (depth === 6 || (depth === 7 && parent === 'r')) this.collects = name === 't' && this.type === 'inlineStr';
  }

  close(name: string, depth: number): void {
    this.collects = false;
    if (!this.inData) return;
    if (depth === 4 && name === 'c') this.endCell();
    else if (depth === 3 && name === 'row' && this.row.columns.length > 0) this.rows.push(this.row);
  }

  private beginRow(place: string | undefined): void {
    const number = place === undefined ? this.row.number + 1 : Number(place);
    if (!(number > this.row.number && number <= LAST_ROW)) throw new UnreadableFile('has rows that are out of order');
    this.row = { number, columns: [], texts: [] };
    this.size = 0;
    this.column = -1;
  }

  private beginCell(place: string | undefined, type = 'n', style = '0'): void {
    const column = place === undefined ? this.column + 1 : columnOf(place, this.row.number);
    if (!(column > this.column && column < LAST_COLUMN)) throw new UnreadableFile('has cells that are out of order');
    this.column = column;
    this.type = type;
    this.style = Number(style);
    this.value = '';
    this.hasFormula = false;
    this.hasInline = false;
  }

  private beginPart(name: string): void {
    if (name === 'v') this.collects = !this.hasInline;
    else if (name === 'f') this.hasFormula = true;
    // Only inline texts use the element `is`, whatever type the cell declares. Its text replaces a value next to it.
    else if (name === 'is') {
      if (this.value !== '' || this.hasInline) this.findings.text?.dropped();
      this.value = '';
      this.type = 'inlineStr';
      this.hasInline = true;
    }
  }

  text(text: string): boolean {
    if (!this.collects) return false;
    this.value += text;
    if (this.size + this.value.length > LONGEST_TEXT) throw new UnreadableFile('has a row of several megabytes');
    return true;
  }

  private endCell(): void {
    const text = this.valueOf(this.value);
    // The result of a formula may be an empty text.
    if (this.hasFormula && text === '' && this.type !== 'str') this.findings.unknownResults += 1;
    if (text === '') return;
    this.size += text.length;
    if (this.size > LONGEST_TEXT) throw new UnreadableFile('has a row of several megabytes');
    this.row.columns.push(this.column);
    this.row.texts.push(text);
  }

  private valueOf(text: string): string {
    const { formats, calendar } = this.context;
    if (this.type === 'inlineStr' || this.type === 'str') return unescaped(text);
    const trimmed = text.trim();
    if (this.type === 'n') return numberText(trimmed, formats[this.style] ?? GENERAL, calendar);
    if (this.type === 's') return this.sharedText(trimmed);
    return this.type === 'b' ? (TRUTHS.get(trimmed) ?? trimmed) : trimmed;
  }

  private sharedText(number: string): string {
    if (number === '') return '';
    const text = this.context.strings.get(/^\d+$/.test(number) ? Number(number) : -1);
    this.shared += text.length;
    if (this.shared > MOST_SHARED) throw new UnreadableFile('has rows of several megabytes');
    return text;
  }
}

const TRUTHS = new Map([
  ['1', 'true'],
  ['0', 'false'],
]);

/** The column of a cell reference, from 0: 27 for `AB12`. */
function columnOf(place: string, row: number): number {
  let column = 0;
  let at = 0;
  let digits = 0;
  for (; at < place.length && at < 3; at += 1) {
    const letter = place.charCodeAt(at) & ~32;
    if (letter < 65 || letter > 90) break;
    column = column * 26 + letter - 64;
  }
  for (; at < place.length; at += 1) digits = digits * 10 + place.charCodeAt(at) - 48;
  if (digits !== row) throw new UnreadableFile('has a cell whose reference names another row');
  return column - 1;
}
