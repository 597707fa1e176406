import { type Calendar, numberText, unescaped } from './cell-text.ts';
import type { Shown } from './number-formats.ts';
import { LONGEST_TEXT, type SharedStrings } from './shared-strings.ts';
import { LAST_COLUMN, LAST_ROW, type RawRow, type SheetRow } from './sheet-row.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { type Attributes, XmlReader } from './xml.ts';

/** What the cells of a sheet refer to. */
export interface CellContext {
  calendar: Calendar;
  /** What the styles of cells show, by the number of a style. */
  shown: readonly Shown[];
}

/** What is seen beside the values of a sheet. */
export interface SheetSeen {
  /** Cells of formulas of which the file has no result. */
  unknownResults: number;
}

/**
 * Reads the rows of a sheet that have a value, as its XML comes in.
 * @throws UnreadableSheet
 */
export class SheetReader {
  private readonly seen: SheetSeen;
  private readonly context: CellContext;
  private readonly xml: XmlReader;
  private rows: RawRow[] = [];
  private inData = false;
  private row: RawRow = { number: 0, columns: [], texts: [], shared: [] };
  private size = 0;
  private column = -1;
  private type = 'n';
  private style = 0;
  private text = '';
  private collects = false;
  private hasFormula = false;
  private run = '';

  /** @param seen is added to */
  constructor(context: CellContext, seen: SheetSeen = { unknownResults: 0 }) {
    this.context = context;
    this.seen = seen;
    this.xml = new XmlReader({
      open: (name, depth, attributes) => this.open(name, depth, attributes),
      text: (text) => this.collect(text),
      close: (name, depth) => this.close(name, depth),
    });
  }

  /** @returns the rows that end in it */
  read(chunk: Uint8Array): RawRow[] {
    this.xml.write(chunk);
    return this.taken();
  }

  end(): RawRow[] {
    this.xml.end();
    return this.taken();
  }

  private taken(): RawRow[] {
    const { rows } = this;
    this.rows = [];
    return rows;
  }

  private open(name: string, depth: number, attributes: Attributes): void {
    this.collects = false;
    if (depth === 1 && name !== 'worksheet') throw new UnreadableSheet('has a sheet that is something else');
    if (depth === 2) this.inData = name === 'sheetData';
    if (!this.inData) return;
    if (depth === 3 && name === 'row') this.beginRow(attributes.r);
    else if (depth === 4 && name === 'c') this.beginCell(attributes);
    else if (depth === 5) this.beginPart(name);
    // The text of a cell is its own or that of its formatted runs, without what says how it is spoken.
    else if (depth === 6) {
      this.run = name;
      this.collects = name === 't' && this.type === 'inlineStr';
    } else if (depth === 7) this.collects = name === 't' && this.run === 'r' && this.type === 'inlineStr';
  }

  private close(name: string, depth: number): void {
    this.collects = false;
    if (!this.inData) return;
    if (depth === 4 && name === 'c') this.endCell();
    else if (depth === 3 && name === 'row' && this.row.columns.length > 0) this.rows.push(this.row);
  }

  private beginRow(place: string | undefined): void {
    const number = place === undefined ? this.row.number + 1 : Number(place);
    if (!(number > this.row.number && number <= LAST_ROW)) throw new UnreadableSheet('has rows out of their order');
    this.row = { number, columns: [], texts: [], shared: [] };
    this.size = 0;
    this.column = -1;
  }

  private beginCell({ r: place, t: type = 'n', s: style = '0' }: Attributes): void {
    const column = place === undefined ? this.column + 1 : columnOf(place, this.row.number);
    if (!(column > this.column && column < LAST_COLUMN)) throw new UnreadableSheet('has cells out of their order');
    this.column = column;
    this.type = type;
    this.style = Number(style);
    this.text = '';
    this.hasFormula = false;
  }

  private beginPart(name: string): void {
    if (name === 'v') this.collects = true;
    else if (name === 'f') this.hasFormula = true;
    // The element comes with inline texts only, whatever the cell says of its type.
    else if (name === 'is') this.type = 'inlineStr';
  }

  private collect(text: string): void {
    if (!this.collects) return;
    this.text += text;
    if (this.size + this.text.length > LONGEST_TEXT) throw new UnreadableSheet('has a row of several megabytes');
  }

  private endCell(): void {
    const text = this.valueOf(this.text);
    // The result of a formula may well be an empty text.
    if (this.hasFormula && text === '' && this.type !== 'str') this.seen.unknownResults += 1;
    if (text === '') return;
    this.size += text.length;
    if (this.type === 's') this.row.shared.push(this.row.columns.length);
    this.row.columns.push(this.column);
    this.row.texts.push(text);
  }

  private valueOf(text: string): string {
    const { shown, calendar } = this.context;
    if (this.type === 'inlineStr' || this.type === 'str') return unescaped(text);
    const trimmed = text.trim();
    if (this.type === 'n') return numberText(trimmed, shown[this.style] ?? 'number', calendar);
    return this.type === 'b' ? (TRUTHS[trimmed] ?? trimmed) : trimmed;
  }
}

const TRUTHS: Readonly<Record<string, string>> = { 1: 'true', 0: 'false' };

/** The column that a place names, counted from 0: 27 for `AB12`. */
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
  if (digits !== row) throw new UnreadableSheet('has a cell that is named for another row');
  return column - 1;
}

/**
 * Puts the shared texts of a row in, which takes memory only now: many rows may refer to one long text.
 * @throws UnreadableSheet
 */
export function withTexts({ number, columns, texts, shared }: RawRow, strings: SharedStrings | null): SheetRow {
  let size = 0;
  for (const place of shared) {
    const text = texts[place] ?? '';
    if (!strings) throw new UnreadableSheet('refers to a shared text that it does not have');
    const found = strings.get(/^\d+$/.test(text) ? Number(text) : -1);
    texts[place] = found;
    size += found.length;
    if (size > LONGEST_TEXT) throw new UnreadableSheet('has a row of several megabytes');
  }
  if (!texts.includes('')) return { number, columns, texts };
  const filled = columns.filter((_, place) => texts[place] !== '');
  return { number, columns: filled, texts: texts.filter((text) => text !== '') };
}
