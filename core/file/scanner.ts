import { EMPTY, NAMED, type NameFilter, NOT_COMPARED, sharedEdgesOf } from './name-filter.ts';
import { LINE_BREAKS, type RegularRecords } from './regular-records.ts';
import { UnreadableFile } from './unreadable-file.ts';

/**
 * The only scanner of CSV text: counting and reading use the same one, so they find the same records. Its grammar is
 * that of Python's csv module: a quotation mark inside an unquoted cell is an ordinary character, and text after a
 * closing mark is appended to the cell. A record ends with LF or CRLF, or with CR if the first line break outside
 * quotation marks is a CR. The scanner works on bytes. A text in UTF-16 is converted first (`encoding.ts`).
 */

export type Separator = ',' | ';' | '\t';
export const SEPARATORS: readonly Separator[] = [',', ';', '\t'];

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
/** The DOS end-of-file mark. */
const END_MARK = 0x1a;

/** Codes of the bytes that end a cell or a record. Other bytes have the code 0. */
const SEPARATES = 1;
const ENDS_LF = 2;
const ENDS_CR = 3;

/** Results of reading, besides the start of the next record: the record continues, or its end is not in the block. */
const GO_ON = -1;
const NOT_ENDED = 0;

const BLOCK_BYTES = 128 * 1024;
/** Stops a file with an unclosed quotation mark before it fills the memory. */
const LARGEST_RECORD = 16 * 1024 * 1024;
/** When a record is decoded, each cell takes memory, even an empty one. */
export const MOST_CELLS = 100_000;
/**
 * Space after the bytes of a block. It holds a line break and a quotation mark, so that the loops need no check for the
 * end of the block, and the bytes that a comparison of the first letters of a record may read.
 */
const SENTINELS = 8;
/** The most bytes of end-of-file marks and line breaks after the last record. */
const LONGEST_END = 4096;

interface Options {
  /** Receives the bytes of whole records, after each of these records was reported. */
  onBlock?: (block: Buffer) => void;
  /** Finds the cells that may name a column. */
  names?: NameFilter;
}

export class Scanner {
  /** The current record: these bytes of the block, which are valid only during the call of `onRecord`. */
  block = Buffer.allocUnsafeSlow(BLOCK_BYTES + SENTINELS);
  from = 0;
  to = 0;
  /** Cells of the record, and how many of them are in quotation marks. */
  cells = 0;
  quoted = 0;
  /** Cells that may name a column, and cells without letters or digits. */
  named = 0;
  empty = 0;

  /** The reader for records that are only counted; `undefined` while each record is reported. */
  regular: RegularRecords | undefined;
  /** Records end with CR; `null` before the first line break. */
  breaksAtCr: boolean | null = null;
  lineBreaks = 0;
  records = 0;
  /** Empty lines after the first record. */
  emptyLines = 0;
  /** An empty line, or a record without letters and digits, is directly above the record. */
  afterEmptyLine = false;
  /** Line breaks of another kind outside quotation marks, and how many of them are directly before a quotation mark. */
  strayBreaks = 0;
  strayBreaksBeforeQuote = 0;
  /** Cells with text after their closing quotation mark. */
  strayQuotes = 0;
  /** A DOS end-of-file mark occurs before the end of the text. */
  endMarkInside = false;
  /** A line break follows the last record. */
  endsWithBreak = false;
  /** The text ends inside quotation marks. */
  endsQuoted = false;

  readonly #codes = new Uint8Array(256);
  readonly #onRecord: (record: Scanner) => void;
  readonly #options: Options;
  #filled = 0;
  /** The end of the current cell. */
  #end = 0;
  #strayQuotes = 0;
  #strayBreaks = 0;
  #beforeQuote = 0;
  #lineBreak = 0;
  /** The edges that all cells share (`sharedEdgesOf`), and the last cell with letters or digits. */
  #sharedEdges = 0;
  #textBegin = 0;
  #textEnd = 0;

  constructor(separator: Separator, onRecord: (record: Scanner) => void, options: Options = {}) {
    this.#codes[LF] = ENDS_LF;
    this.#codes[CR] = ENDS_CR;
    this.#codes[separator.charCodeAt(0)] = SEPARATES;
    this.#onRecord = onRecord;
    this.#options = options;
  }

  /** @throws UnreadableFile for a record of too many bytes or cells */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#filled === this.#capacity) this.#grow();
      const part = chunk.subarray(at, at + this.#capacity - this.#filled);
      this.block.set(part, this.#filled);
      this.#filled += part.length;
      at += part.length;
      if (this.#filled === this.#capacity) this.flush();
    }
  }

  /** Reports the records that have ended so far. */
  flush(): void {
    const marks = this.#endMarks();
    if (marks !== -1 && this.#filled - marks > LONGEST_END) this.endMarkInside = true;
    this.#read(marks === -1 || this.endMarkInside ? this.#filled : marks, false);
  }

  /** Reports the last record, which needs no line break. */
  end(): void {
    const marks = this.#endMarks();
    if (marks !== -1) this.#filled = marks;
    this.endsQuoted = false;
    this.#read(this.#filled, true);
  }

  /** The current record has a line break of another kind outside quotation marks. */
  get hasStrayBreak(): boolean {
    return this.#strayBreaks > 0;
  }

  /** A cell of the current record has text after its closing quotation mark. */
  get hasStrayQuote(): boolean {
    return this.#strayQuotes > 0;
  }

  /** All cells with letters or digits, at least two, begin or end with the same sign or letter. */
  get alike(): boolean {
    return this.#sharedEdges > 0 && this.#sharedEdges < NOT_COMPARED;
  }

  get #capacity(): number {
    return this.block.length - SENTINELS;
  }

  #grow(): void {
    if (this.#capacity >= LARGEST_RECORD) {
      this.#refuse(`${LARGEST_RECORD / 1024 / 1024} MiB`);
    }
    const larger = Buffer.allocUnsafeSlow(2 * this.#capacity + SENTINELS);
    larger.set(this.block.subarray(0, this.#filled));
    this.block = larger;
  }

  /** Start of the end-of-file marks and line breaks at the end of the bytes; -1 = there are none. */
  #endMarks(): number {
    const filled = this.#filled;
    const first = this.endMarkInside ? -1 : this.block.indexOf(END_MARK);
    if (first === -1 || first >= filled) return -1;
    const ends = (byte = 0) => byte === END_MARK || byte === LF || byte === CR;
    let at = first;
    while (at < filled && ends(this.block[at])) at += 1;
    if (at === filled) return first;
    this.endMarkInside = true;
    return -1;
  }

  #read(to: number, last: boolean): void {
    const { block } = this;
    const behind = block.readUInt16LE(to);
    block[to] = LF;
    block[to + 1] = QUOTE;
    const read = this.#scan(to, last);
    block.writeUInt16LE(behind, to);
    this.#options.onBlock?.(block.subarray(0, read));
    block.copyWithin(0, read, this.#filled);
    this.#filled -= read;
  }

  /** @returns the start of the first record that has not ended */
  #scan(end: number, last: boolean): number {
    let from = 0;
    while (from < end) {
      from = this.#skipRegular(from, end);
      const next = from < end ? this.#find(this.block, from, end, last) : NOT_ENDED;
      if (next === NOT_ENDED) break;
      if (this.#end > from) this.#take(from);
      else if (this.records > 0) this.emptyLines += 1;
      this.afterEmptyLine = this.#end === from || this.empty === this.cells;
      from = next;
    }
    return from;
  }

  #skipRegular(from: number, end: number): number {
    const { regular, breaksAtCr } = this;
    if (!regular || breaksAtCr === null) return from;
    const next = regular.skip(this.block, from, end, breaksAtCr);
    if (regular.records === 0) return from;
    this.afterEmptyLine = false;
    this.records += regular.records;
    this.lineBreaks |= regular.lineBreaks;
    this.endsWithBreak = true;
    this.from = regular.from;
    this.to = regular.to;
    return next;
  }

  #refuse(most: string): never {
    throw new UnreadableFile(`has a record of more than ${most}, its record ${this.records + 1}`);
  }

  #take(from: number): void {
    if (this.cells > MOST_CELLS) this.#refuse(`${MOST_CELLS.toLocaleString('en-US')} cells`);
    this.from = from;
    this.to = this.#end;
    this.strayBreaks += this.#strayBreaks;
    this.strayBreaksBeforeQuote += this.#beforeQuote;
    this.strayQuotes += this.#strayQuotes;
    this.lineBreaks |= this.#lineBreak;
    this.endsWithBreak = this.#lineBreak > 0;
    this.records += 1;
    this.#onRecord(this);
  }

  /** Reads a record cell by cell. @returns the start of the next record */
  #find(block: Buffer, from: number, end: number, last: boolean): number {
    this.cells = 0;
    this.quoted = 0;
    this.named = 0;
    this.empty = 0;
    this.#sharedEdges = this.#options.names?.decorated ? NOT_COMPARED : 0;
    this.#textEnd = 0;
    this.#strayQuotes = 0;
    this.#strayBreaks = 0;
    this.#beforeQuote = 0;
    this.#lineBreak = 0;
    let next = GO_ON;
    for (let start = from; next === GO_ON; start = this.#end + 1) {
      const at = block[start] === QUOTE ? this.#skipQuoted(block, start, end) : start;
      if (at >= end && at > start && !last) return NOT_ENDED;
      next = this.#skipUnquoted(block, start, Math.min(at, end), end, last);
    }
    return next;
  }

  /**
   * Moves to the end of the record, or to the next cell in quotation marks.
   * @param start of the first cell @param from the position to go on from
   * @returns the start of the next record if the record ends
   */
  #skipUnquoted(block: Buffer, start: number, from: number, end: number, last: boolean): number {
    const codes = this.#codes;
    let next = GO_ON;
    let begin = start;
    for (let at = from; ; at += 1) {
      let code = codes[block[at] as number] as number;
      while (code === 0) {
        at += 1;
        code = codes[block[at] as number] as number;
      }
      if (code !== SEPARATES) next = this.#atBreak(block, at, end, last, code);
      if (code === SEPARATES || next !== GO_ON) {
        this.#endCell(begin, at);
        begin = at + 1;
        if (next !== GO_ON || block[begin] === QUOTE) return next;
      }
    }
  }

  #endCell(begin: number, end: number): void {
    this.#end = end;
    this.cells += 1;
    const bits = this.#options.names?.bitsOf(this.block, begin, end) ?? 0;
    if ((bits & NAMED) > 0) this.named += 1;
    if ((bits & EMPTY) > 0) this.empty += 1;
    else if (this.#sharedEdges > 0) {
      if (this.#textEnd > 0) this.#sharedEdges &= sharedEdgesOf(this.block, this.#textBegin, this.#textEnd, begin, end);
      this.#textBegin = begin;
      this.#textEnd = end;
    }
  }

  /** The position after the closing mark of a quoted part; a position after `end` if no mark closes it. */
  #skipQuoted(block: Buffer, start: number, end: number): number {
    let at = start;
    do {
      at += 1;
      while (block[at] !== QUOTE) at += 1;
      at += 1;
    } while (at < end && block[at] === QUOTE);
    this.quoted += 1;
    this.endsQuoted = at > end;
    if (at < end && this.#codes[block[at] as number] === 0) this.#strayQuotes += 1;
    return at;
  }

  #atBreak(block: Buffer, at: number, end: number, last: boolean, code: number): number {
    if (at === end) return last ? end : NOT_ENDED;
    const isCr = code === ENDS_CR;
    const after = at + 1;
    const follows = after < end ? block[after] : undefined;
    // A CR at the end of the bytes may be half of a CRLF.
    if (isCr && follows === undefined && this.breaksAtCr !== true) return last ? end : NOT_ENDED;
    this.breaksAtCr ??= isCr && follows !== LF;
    if (isCr && follows === LF && !this.breaksAtCr) {
      this.#lineBreak = LINE_BREAKS.crlf;
      return after + 1;
    }
    if (isCr === this.breaksAtCr) {
      this.#lineBreak = isCr ? LINE_BREAKS.cr : LINE_BREAKS.lf;
      return after;
    }
    this.#strayBreaks += 1;
    if (follows === QUOTE) this.#beforeQuote += 1;
    return GO_ON;
  }
}

/** The texts of the cells of a record. @param quoted whether a cell is in quotation marks */
export function cellsOf(text: string, separator: string, quoted: boolean): string[] {
  if (!quoted) return text.split(separator);
  const cells: string[] = [];
  for (let at = 0; at <= text.length; ) {
    let cell = '';
    if (text[at] === '"') {
      const parts: string[] = [];
      do {
        const mark = text.indexOf('"', at + 1);
        const close = mark === -1 ? text.length : mark;
        parts.push(text.slice(at + 1, close));
        at = close + 1;
      } while (text[at] === '"');
      cell = parts.join('"');
    }
    const found = text.indexOf(separator, at);
    const end = found === -1 ? text.length : found;
    cells.push(cell + text.slice(at, end));
    at = end + separator.length;
  }
  return cells;
}
