import { UnreadableFile } from './unreadable-file.ts';

/**
 * The only scanner of CSV text: counting and reading use the same one, so they find the same records. Its grammar is
 * that of Python's csv module: a quotation mark inside an unquoted cell is an ordinary character, and text after a
 * closing mark is appended to the cell. A record ends with LF or CRLF, or with CR if the first line break outside
 * quotation marks is a CR. The scanner works on bytes. A text in UTF-16 is converted first (`encoding.ts`).
 */

export type Separator = ',' | ';' | '\t';

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
/** The DOS end-of-file mark. */
const END_MARK = 0x1a;

/** Kinds of bytes outside quotation marks. Those up to `LAST_INSIDE` end no record; their lowest bit counts cells. */
const PLAIN = 0;
const SEPARATES = 1;
/** This bit marks a byte that makes a cell odd if the cell begins with it. */
const ODD = 2;
const LAST_INSIDE = SEPARATES | ODD;
const ENDS_LF = 4 | ODD;
const ENDS_CR = 8 | ODD;
const MARK = 16;

/** Kinds of byte pairs without a line break: the number of separators, and the cells that are odd because of them. */
const BOTH_SEPARATE = 3;
const SECOND_IS_ODD = 4;
const LAST_SEPARATES = 8;
const FIRST_IS_ODD = 16;
/** One of the two bytes is a line break or a quotation mark. */
const ENDS_PAIR = 32;
/** The table of pairs is used for texts that are longer than this and have this many bytes between two stops. */
const WORTH_PAIRS = 16 * 1024;
const WORTH_STOPS = 24;

/** Results besides the start of the next record: the record continues, or its end is not in the block. */
const GO_ON = -1;
const NOT_ENDED = 0;

/**
 * Receives a record: the bytes of the block from `from` to `to`. The block is valid only during the call.
 * @param quoted number of cells in quotation marks
 * @param odd number of cells that begin with an odd byte, or are empty
 */
export type OnRecord = (block: Buffer, from: number, to: number, cells: number, quoted: number, odd: number) => void;

/** The bits of `Scanner.lineBreaks`. */
export const LINE_BREAKS = { lf: 1, crlf: 2, cr: 4 } as const;

const BLOCK_BYTES = 128 * 1024;
/** Stops a file with an unclosed quotation mark before it fills the memory. */
const LARGEST_RECORD = 16 * 1024 * 1024;
/** A line break and a quotation mark after the bytes of a block, so that the loops need no check for its end. */
const SENTINELS = 2;
/** The most bytes of end-of-file marks and line breaks after the last record. */
const LONGEST_END = 4096;
/** Longer quoted parts are searched with `indexOf`, which is faster for them. */
const SHORT_QUOTED = 32;

export class Scanner {
  /** Records end with CR; `null` before the first line break. */
  breaksAtCr: boolean | null = null;
  lineBreaks = 0;
  records = 0;
  /** Empty lines after the first record. */
  emptyLines = 0;
  /** Line breaks of another kind outside quotation marks, and how many of them precede a quotation mark directly. */
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

  readonly #kinds = new Uint8Array(256);
  readonly #onRecord: OnRecord;
  readonly #onBlock: ((block: Buffer) => void) | undefined;
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES + SENTINELS);
  #view = new Uint16Array(this.#block.buffer);
  #allPairs: Uint8Array | null = null;
  #pairs: Uint8Array | null = null;
  /** Number of line breaks and quotation marks in the block. */
  #stops = 0;
  #filled = 0;
  /** The state of the current record up to this position. */
  #at = 0;
  #cells = 1;
  #quoted = 0;
  #odd = 0;
  #strayQuotes = 0;
  #strayBreaks = 0;
  #beforeQuote = 0;
  #lineBreak = 0;

  /**
   * @param onBlock receives the bytes of whole records, after each of these records was reported
   * @param isOdd which first bytes make a cell odd; for an empty cell, the byte is the separator
   */
  constructor(
    separator: Separator,
    onRecord: OnRecord,
    onBlock?: (block: Buffer) => void,
    isOdd: (byte: number) => boolean = () => false,
  ) {
    for (let byte = 0; byte < 256; byte += 1) this.#kinds[byte] = isOdd(byte) ? ODD : PLAIN;
    this.#kinds[LF] = ENDS_LF;
    this.#kinds[CR] = ENDS_CR;
    this.#kinds[QUOTE] = MARK;
    const code = separator.charCodeAt(0);
    this.#kinds[code] = SEPARATES | (isOdd(code) ? ODD : PLAIN);
    this.#onRecord = onRecord;
    this.#onBlock = onBlock;
  }

  /** @throws UnreadableFile for a record that is too large */
  push(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#filled === this.#capacity) this.#grow();
      const part = chunk.subarray(at, at + this.#capacity - this.#filled);
      this.#block.set(part, this.#filled);
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
    this.#read(this.#filled, true);
  }

  get #capacity(): number {
    return this.#block.length - SENTINELS;
  }

  #grow(): void {
    if (this.#capacity >= LARGEST_RECORD) {
      const most = `${LARGEST_RECORD / 1024 / 1024} MiB`;
      throw new UnreadableFile(`has a record of more than ${most}, its record ${this.records + 1}`);
    }
    const larger = Buffer.allocUnsafeSlow(2 * this.#capacity + SENTINELS);
    larger.set(this.#block.subarray(0, this.#filled));
    this.#block = larger;
    this.#view = new Uint16Array(larger.buffer);
  }

  /** Start of the end-of-file marks and line breaks at the end of the bytes; -1 = there are none. */
  #endMarks(): number {
    const filled = this.#filled;
    const first = this.endMarkInside ? -1 : this.#block.indexOf(END_MARK);
    if (first === -1 || first >= filled) return -1;
    const ends = (byte = 0) => byte === END_MARK || byte === LF || byte === CR;
    let at = first;
    while (at < filled && ends(this.#block[at])) at += 1;
    if (at === filled) return first;
    this.endMarkInside = true;
    return -1;
  }

  #read(to: number, last: boolean): void {
    const block = this.#block;
    const behind = block.readUInt16LE(to);
    block[to] = LF;
    block[to + 1] = QUOTE;
    this.#stops = 0;
    const read = this.#scan(block, to, last);
    // With many stops in a text, reading pairs of bytes would be slower.
    const pays = to > WORTH_PAIRS && to > this.#stops * WORTH_STOPS;
    if (pays) this.#allPairs ??= pairsOf(this.#kinds);
    this.#pairs = pays ? this.#allPairs : null;
    block.writeUInt16LE(behind, to);
    this.#onBlock?.(block.subarray(0, read));
    block.copyWithin(0, read, this.#filled);
    this.#filled -= read;
  }

  /** @returns the start of the first record that has not ended */
  #scan(block: Buffer, end: number, last: boolean): number {
    let from = 0;
    while (from < end) {
      const next = this.#find(block, from, end, last);
      if (next === NOT_ENDED) break;
      if (this.#at > from) this.#take(block, from);
      else if (this.records > 0) this.emptyLines += 1;
      from = next;
    }
    return from;
  }

  #take(block: Buffer, from: number): void {
    this.strayBreaks += this.#strayBreaks;
    this.strayBreaksBeforeQuote += this.#beforeQuote;
    this.strayQuotes += this.#strayQuotes;
    this.lineBreaks |= this.#lineBreak;
    this.endsWithBreak = this.#lineBreak > 0;
    this.records += 1;
    this.#onRecord(block, from, this.#at, this.#cells, this.#quoted, this.#odd >> 1);
  }

  /** Moves to the end of a record. @returns the start of the next record */
  #find(block: Buffer, from: number, end: number, last: boolean): number {
    this.#at = from;
    this.#cells = 1;
    this.#quoted = 0;
    this.#odd = (this.#kinds[block[from] as number] as number) & ODD;
    this.#strayQuotes = 0;
    this.#strayBreaks = 0;
    this.#beforeQuote = 0;
    this.#lineBreak = 0;
    for (;;) {
      const pairs = this.#pairs;
      const kind = pairs ? this.#skipPairs(block, pairs) : this.#skipBytes(block, end);
      this.#stops += 1;
      if (this.#at >= end) return last ? end : NOT_ENDED;
      const next = kind === MARK ? this.#atMark(block, from, end, last) : this.#atBreak(block, end, last, kind);
      if (next !== GO_ON) return next;
    }
  }

  /** Moves to the next line break or quotation mark. @returns its kind */
  #skipBytes(block: Buffer, most: number): number {
    const kinds = this.#kinds;
    const end = this.#at + most;
    let at = this.#at;
    let cells = 0;
    let odd = 0;
    let kind = kinds[block[at] as number] as number;
    while (kind <= LAST_INSIDE && at < end) {
      const separates = kind & SEPARATES;
      cells += separates;
      at += 1;
      kind = kinds[block[at] as number] as number;
      odd += (separates << 1) & kind;
    }
    this.#at = at;
    this.#cells += cells;
    this.#odd += odd;
    return kind;
  }

  /** Moves to the next line break or quotation mark, two bytes at a time. @returns its kind */
  #skipPairs(block: Buffer, pairs: Uint8Array): number {
    if (this.#at & 1 && this.#skipBytes(block, 1) > LAST_INSIDE) return this.#skipBytes(block, 0);
    const view = this.#view;
    let at = this.#at >> 1;
    let cells = 0;
    let odd = 0;
    let pair = pairs[view[at] as number] as number;
    while (pair < ENDS_PAIR) {
      const last = pair & LAST_SEPARATES;
      cells += pair & BOTH_SEPARATE;
      odd += (pair & SECOND_IS_ODD) >> 2;
      at += 1;
      pair = pairs[view[at] as number] as number;
      odd += ((last << 1) & pair) >> 4;
    }
    this.#at = at << 1;
    this.#cells += cells;
    this.#odd += odd << 1;
    return this.#skipBytes(block, 2);
  }

  #atMark(block: Buffer, from: number, end: number, last: boolean): number {
    const kinds = this.#kinds;
    const at = this.#at;
    if (at > from && ((kinds[block[at - 1] as number] as number) & SEPARATES) === 0) {
      this.#at = at + 1;
      return GO_ON;
    }
    return this.#skipQuoted(block, end, last);
  }

  /** Moves to the end of a quoted cell, and of quoted cells that follow it directly. */
  #skipQuoted(block: Buffer, end: number, last: boolean): number {
    const kinds = this.#kinds;
    let at = this.#at;
    for (;;) {
      const after = afterQuoted(block, at + 1, end);
      if (after >= end && !last) return NOT_ENDED;
      if (kinds[block[at + 1] as number] === ODD) this.#odd += ODD;
      this.#quoted += 1;
      const next = kinds[block[after] as number] as number;
      if ((next & SEPARATES) === 0 || block[after + 1] !== QUOTE || after + 1 >= end) {
        this.endsQuoted = after > end;
        this.#at = Math.min(after, end);
        this.#strayQuotes += this.#at < end && (next | ODD) === ODD ? 1 : 0;
        return GO_ON;
      }
      this.#cells += 1;
      at = after + 1;
    }
  }

  #atBreak(block: Buffer, end: number, last: boolean, kind: number): number {
    const isCr = kind === ENDS_CR;
    const after = this.#at + 1;
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
    this.#at = after;
    return GO_ON;
  }
}

/** The kind of each pair of bytes. The lower half of the index is the first byte. */
function pairsOf(kinds: Uint8Array): Uint8Array {
  const pairs = new Uint8Array(1 << 16);
  for (let place = 0; place < pairs.length; place += 1) {
    const first = kinds[place & 0xff] as number;
    const second = kinds[place >> 8] as number;
    const firstIsOdd = first & ODD ? FIRST_IS_ODD : 0;
    const secondIsOdd = first & SEPARATES && second & ODD ? SECOND_IS_ODD : 0;
    const separate = (first & SEPARATES) + (second & SEPARATES);
    const inside = separate | secondIsOdd | (second & SEPARATES ? LAST_SEPARATES : 0);
    pairs[place] = firstIsOdd | (Math.max(first, second) > LAST_INSIDE ? ENDS_PAIR : inside);
  }
  return pairs;
}

/** The position after the closing mark of a quoted part; a position after `end` if no mark closes it. */
export function afterQuoted(block: Buffer, from: number, end: number): number {
  let at = from;
  for (;;) {
    const near = at + SHORT_QUOTED;
    while (block[at] !== QUOTE && at < near) at += 1;
    if (block[at] !== QUOTE) at = block.indexOf(QUOTE, at);
    if (at >= end) return end + 1;
    at += 1;
    if (block[at] !== QUOTE || at >= end) return at;
    at += 1;
  }
}

/** The texts of the cells of a record. @param quoted whether a cell is in quotation marks */
export function cellsOf(text: string, separator: Separator, quoted: boolean): string[] {
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
    at = end + 1;
  }
  return cells;
}
