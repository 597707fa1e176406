const QUOTE = 0x22;
const COMMA = 0x2c;
const LF = 0x0a;
const CR = 0x0d;

/** A record of a CSV file, or what is wrong with its form. */
export interface CsvRecord {
  /** Physical line on which it begins, from 1. */
  line: number;
  /** `null` is the cell `\N` without quotation marks. */
  cells: (string | null)[];
  wrong: string | null;
}

const NULL_CELL = '\\N';
const AFTER_QUOTE = 'has characters behind the closing quotation mark of a cell';
const INSIDE = 'has a quotation mark inside a cell that does not begin with one';
const LONE_CR = 'has a carriage return (CR) without a line feed (LF): save the file with LF or CRLF line breaks';
const NEVER_CLOSED = 'opens a quotation mark that is never closed';

/**
 * Cuts the text of a CSV file into records and cells: RFC 4180, strictly. Quoted cells may hold commas, line breaks and
 * doubled quotation marks; line breaks are LF or CRLF; empty lines are no records. Own code, for csv-parse quotes cells in
 * its errors and tells quoted cells from plain ones through a callback for each cell (25 MB/s for cells alone, where this
 * and all checks of a line make 55); a property test compares the two.
 */
export class CsvCells {
  #text = '';
  #at = 0;
  #line = 1;
  /** Line breaks within the record that is being read. */
  #breaks = 0;
  #wrong: string | null = null;

  /** Characters that wait for the rest of their record. */
  get waiting(): number {
    return this.#text.length - this.#at;
  }

  /** The physical line on which the next record begins. */
  get line(): number {
    return this.#line;
  }

  /** The physical line that the next text begins on, which is a later one while a record waits for its rest. */
  get nextLine(): number {
    return this.#line + countBreaks(this.#text.slice(this.#at));
  }

  /** @param last whether nothing comes behind this text. */
  *read(text: string, last: boolean): Generator<CsvRecord> {
    this.#text = this.#text.slice(this.#at) + text;
    this.#at = 0;
    while (this.#at < this.#text.length) {
      const [begin, line] = [this.#at, this.#line];
      const cells = this.#record(last);
      if (!cells) {
        this.#at = begin;
        return;
      }
      this.#line += this.#breaks + 1;
      if (cells.length > 1 || cells[0] !== '' || this.#wrong) yield { line, cells, wrong: this.#wrong };
    }
  }

  /** @returns `undefined` when the record goes on behind the text. */
  #record(last: boolean): (string | null)[] | undefined {
    const cells: (string | null)[] = [];
    [this.#breaks, this.#wrong] = [0, null];
    for (;;) {
      const cell = this.#cell(last);
      if (cell === undefined) return undefined;
      cells.push(cell);
      if (this.#wrong) return this.#skipLine(last) ? cells : undefined;
      const next = this.#text.charCodeAt(this.#at);
      if (next === COMMA) this.#at += 1;
      else return this.#endLine(last) ? cells : undefined;
    }
  }

  #cell(last: boolean): string | null | undefined {
    return this.#text.charCodeAt(this.#at) === QUOTE ? this.#quotedCell(last) : this.#plainCell();
  }

  #plainCell(): string | null {
    const text = this.#text;
    let end = this.#at;
    let code = text.charCodeAt(end);
    while (code !== COMMA && code !== LF && code !== CR && code !== QUOTE && end < text.length) {
      end += 1;
      code = text.charCodeAt(end);
    }
    const cell = text.slice(this.#at, end);
    this.#at = end;
    if (code === QUOTE) this.#wrong = INSIDE;
    return cell === NULL_CELL ? null : cell;
  }

  #quotedCell(last: boolean): string | undefined {
    const begin = this.#at + 1;
    let close = this.#text.indexOf('"', begin);
    let doubled = false;
    while (close !== -1 && this.#text.charCodeAt(close + 1) === QUOTE) {
      doubled = true;
      close = this.#text.indexOf('"', close + 2);
    }
    // A mark at the end of the text may be the first of two: nothing of a record counts before its line has ended.
    if (close === -1) return last ? this.#neverClosed() : undefined;
    const inside = this.#text.slice(begin, close);
    this.#breaks += countBreaks(inside);
    this.#at = close + 1;
    return doubled ? inside.replaceAll('""', '"') : inside;
  }

  #neverClosed(): string {
    this.#wrong = NEVER_CLOSED;
    this.#at = this.#text.length;
    return '';
  }

  /** Ends the record at the end of a line or of the file; `false` when more text is needed to tell. */
  #endLine(last: boolean): boolean {
    if (this.#at >= this.#text.length) return last;
    const code = this.#text.charCodeAt(this.#at);
    if (code === LF) {
      this.#at += 1;
      return true;
    }
    if (code === CR && this.#text.charCodeAt(this.#at + 1) === LF) {
      this.#at += 2;
      return true;
    }
    this.#wrong = code === CR ? LONE_CR : AFTER_QUOTE;
    return this.#skipLine(last);
  }

  /** Goes on behind the line on which a record went wrong. */
  #skipLine(last: boolean): boolean {
    const end = this.#text.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#text.length : end + 1;
    return end !== -1 || last;
  }
}

function countBreaks(text: string): number {
  let breaks = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) breaks += 1;
  return breaks;
}
