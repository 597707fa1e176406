import type { Separator } from './csv-cells.ts';
import { mayBeginError } from './error-text.ts';
import { EMPTY, MASK, NAMED, type NameFilter, sharedEdgesOf, UNSURE } from './name-filter.ts';
import { TextBlocks } from './text-blocks.ts';
import { UnreadableFile } from './unreadable-file.ts';

/**
 * The only scanner of CSV text: counting and reading use the same one, so they find the same records. Its grammar is
 * that of Python's csv module: a quotation mark inside an unquoted cell is an ordinary character, and text after a
 * closing mark is appended to the cell. A record ends with LF or CRLF, or with CR if the first line break outside
 * quotation marks is a CR. The scanner works on bytes. A text in UTF-16 is converted first (`encoding.ts`).
 */

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const BRACE = 0x7b;
const TAG = 0x3c;

/** A bit for each kind of line break. */
export const LINE_BREAKS = { lf: 1, crlf: 2, cr: 4 } as const;

/** Codes of the bytes that end a cell, a record or a quoted part. Other bytes have a weight (`NameFilter`). */
const SEPARATES = -1;
const ENDS_LF = -2;
const ENDS_CR = -3;
const CLOSES = -4;
/** The code of a byte that may begin records inside a cell: a brace (JSON), a `<` (a page), or a line break. */
const NESTING = -5;

/** The halves of the table of codes: for bytes outside and inside quotation marks. */
const OUTSIDE = 0;
const INSIDE = 256;
const NO_NAMES = new Uint8Array(MASK + 1);

/** The longest cell whose bytes are summed: the sum of a longer cell could overflow. */
const LONGEST_SUMMED = 1000;

/** Results of reading other than the start of the next record: the record continues, or its end is not in the block. */
const GO_ON = -1;
const NOT_ENDED = 0;

/** When a record is decoded, each cell takes memory, even an empty one. */
export const MOST_CELLS = 100_000;

interface Options {
  /** Receives the bytes of whole records, after each of these records was reported. */
  onBlock?: (block: Buffer) => void;
  /** Finds the cells that may name a column. */
  names?: NameFilter;
  /** Finds left-out columns inside of cells; `null` if none is left out. */
  nested?: { mayBeIn: (block: Buffer, from: number, to: number) => boolean } | null;
}

export class Scanner extends TextBlocks {
  /** The current record is in the block, at `from` up to `to`. Both are valid only during the call of `onRecord`. */
  from = 0;
  to = 0;
  /** Cells of the record, and how many of them are in quotation marks. */
  cells = 0;
  quoted = 0;
  /**
   * Cells that may name a column by the weights of their bytes (`NameFilter`), and cells without letters or digits.
   * Both counts are exact for a record that may be a header: in such a record, twice the first plus the second is at
   * least `cells`.
   */
  named = 0;
  empty = 0;

  /**
   * The width of regular records, which are only counted; 0 = each record is reported. A regular record has this width.
   * It does not begin like the text of an error. Most of its texts cannot name a column, and they do not all begin or
   * end alike. None of its cells may contain records with a left-out column. No rule has to check such a record.
   */
  regularWidth = 0;
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
  /** The part of `strayBreaks` and of `strayQuotes` in the current record. */
  ownStrayBreaks = 0;
  ownStrayQuotes = 0;
  /** A line break follows the last record. */
  endsWithBreak = false;
  /** The text ends inside quotation marks. */
  endsQuoted = false;

  /** The code of each byte, outside and inside quotation marks. */
  readonly #codes = new Int32Array(512);
  /** Whether a cell with a sum of weights may name a column. */
  readonly #bitsBySum: Uint8Array;
  readonly #onRecord: (record: Scanner) => void;
  readonly #options: Options;
  /** The end of the current record, its kind of line break, and what it adds to the counts above. */
  #end = 0;
  #lineBreak = 0;
  #beforeQuote = 0;
  /** The first and the last cell of the record with letters or digits. */
  #firstBegin = 0;
  #firstEnd = 0;
  #lastBegin = 0;
  #lastEnd = 0;
  /** The sum of the weights of the cell that `#cellEnd` has read. */
  #sum = 0;
  /** A cell of the record may contain records. */
  #nests = false;

  constructor(separator: Separator, onRecord: (record: Scanner) => void, options: Options = {}) {
    super();
    this.#onRecord = onRecord;
    this.#options = options;
    const { names, nested } = options;
    const codes = this.#codes;
    for (const half of [OUTSIDE, INSIDE]) codes.set(names?.weights ?? [], half);
    this.#bitsBySum = names?.bitsBySum ?? NO_NAMES;
    const nesting = nested ? [BRACE, TAG, INSIDE + BRACE, INSIDE + TAG, INSIDE + LF, INSIDE + CR] : [];
    for (const place of nesting) codes[place] = NESTING;
    codes[INSIDE + QUOTE] = CLOSES;
    codes[LF] = ENDS_LF;
    codes[CR] = ENDS_CR;
    codes[separator.charCodeAt(0)] = SEPARATES;
  }

  /** Whether all cells with letters or digits (at least two cells) have the same first or the same last character. */
  get alike(): boolean {
    const { block } = this;
    const [begin, end, last] = [this.#firstBegin, this.#firstEnd, this.#lastBegin];
    // In most records, the first and the last one differ.
    const mayBe = this.#options.names?.decorated && last > begin;
    let edges = mayBe ? sharedEdgesOf(block, begin, end, last, this.#lastEnd) : 0;
    for (let from = end + 1; edges > 0 && from <= last; ) {
      const to = this.#cellEnd(from);
      if (this.#sum !== 0) edges &= sharedEdgesOf(block, begin, end, from, to);
      from = to + 1;
    }
    return edges > 0;
  }

  protected override read(end: number, last: boolean): number {
    if (last) this.endsQuoted = false;
    const read = this.#readRecords(end, last);
    this.#options.onBlock?.(this.block.subarray(0, read));
    return read;
  }

  /** @returns the start of the first record that has not ended */
  #readRecords(end: number, last: boolean): number {
    let from = 0;
    while (from < end) {
      const next = this.#find(from, end, last);
      if (next === NOT_ENDED) break;
      if (this.#end > from) this.#take(from);
      else if (this.records > 0) this.emptyLines += 1;
      this.afterEmptyLine = this.#end === from || this.empty === this.cells;
      from = next;
    }
    return from;
  }

  protected override refuse(most: string): never {
    throw new UnreadableFile(`has a record of more than ${most}, its record ${this.records + 1}`);
  }

  #take(from: number): void {
    if (this.cells > MOST_CELLS) this.refuse(`${MOST_CELLS.toLocaleString('en-US')} cells`);
    this.from = from;
    this.to = this.#end;
    this.strayBreaks += this.ownStrayBreaks;
    this.strayBreaksBeforeQuote += this.#beforeQuote;
    this.strayQuotes += this.ownStrayQuotes;
    this.lineBreaks |= this.#lineBreak;
    this.endsWithBreak = this.#lineBreak > 0;
    this.records += 1;
    if (!this.#isRegular()) this.#onRecord(this);
  }

  // Not a getter: V8 does not inline private getters.
  #isRegular(): boolean {
    if (this.cells !== this.regularWidth || this.#mayBeHeader() || this.ownStrayBreaks > 0 || this.alike) return false;
    const isNested = this.#nests && this.#options.nested?.mayBeIn(this.block, this.from, this.to);
    return !isNested && !mayBeginError(this.block, this.from);
  }

  /** At least half of the cells with letters or digits may name a column. */
  #mayBeHeader(): boolean {
    return 2 * this.named + this.empty >= this.cells;
  }

  /** Reads a record cell by cell. Most of the time for a file is spent here. @returns the start of the next record */
  #find(from: number, end: number, last: boolean): number {
    const { block } = this;
    const codes = this.#codes;
    const bitsBySum = this.#bitsBySum;
    let [cells, named, empty] = [0, 0, 0];
    let [firstBegin, firstEnd, lastBegin, lastEnd] = [0, 0, 0, 0];
    let next = GO_ON;
    this.quoted = 0;
    this.#nests = false;
    this.#lineBreak = 0;
    this.ownStrayQuotes = 0;
    this.ownStrayBreaks = 0;
    this.#beforeQuote = 0;
    for (let at = from; next === GO_ON; at += 1) {
      const begin = at;
      let sum = 0;
      if (block[at] === QUOTE) {
        at = this.#closingMark(block, at + 1, end);
        sum = this.#sum;
      }
      let code = codes[block[at] as number] as number;
      while (code >= 0) {
        sum = (sum + code) | 0;
        at += 1;
        code = codes[block[at] as number] as number;
      }
      if (code !== SEPARATES) {
        this.#sum = sum;
        next = this.#endCell(block, at, end, last);
        at = this.#end;
        sum = this.#sum;
      }
      cells += 1;
      if (sum === 0) empty += 1;
      else {
        named += bitsOf(sum, at - begin, bitsBySum);
        if (firstEnd === 0) {
          firstBegin = begin;
          firstEnd = at;
        }
        lastBegin = begin;
        lastEnd = at;
      }
    }
    this.cells = cells;
    this.named = named >> 1; // The sum of bits `NAMED`, each of which is 2.
    this.empty = empty;
    this.#firstBegin = firstBegin;
    this.#firstEnd = firstEnd;
    this.#lastBegin = lastBegin;
    this.#lastEnd = lastEnd;
    if (this.#options.names && this.#mayBeHeader()) this.#count(from, this.#options.names);
    return next;
  }

  /** Reads on from a line break or a nesting byte to the next separator or the end of the record. @returns as `#atBreak` */
  #endCell(block: Buffer, from: number, end: number, last: boolean): number {
    let next = GO_ON;
    let at = from;
    let code = this.#codes[block[at] as number] as number;
    for (; code !== SEPARATES; code = this.#codes[block[at] as number] as number) {
      if (code >= 0) this.#sum = (this.#sum + code) | 0;
      else if (code === NESTING) {
        this.#sum = (this.#sum + UNSURE) | 0;
        this.#nests = true;
      } else next = this.#atBreak(block, at, end, last);
      if (next !== GO_ON) break;
      at += 1;
    }
    this.#end = at;
    return next;
  }

  /** Sums the text in quotation marks. @returns the position after the closing mark; `end` if no mark closes it */
  #closingMark(block: Buffer, from: number, end: number): number {
    const codes = this.#codes;
    let sum = 0;
    let at = from;
    for (;;) {
      let code = codes[INSIDE + (block[at] as number)] as number;
      while (code >= 0) {
        sum = (sum + code) | 0;
        at += 1;
        code = codes[INSIDE + (block[at] as number)] as number;
      }
      at += 1;
      if (code === NESTING && at <= end) {
        sum = (sum + UNSURE) | 0;
        this.#nests = true;
      } else if (at < end && block[at] === QUOTE) at += 1;
      else break;
    }
    this.#sum = sum;
    this.quoted += 1;
    if (at > end) this.endsQuoted = true;
    if (at >= end) return end;
    const code = codes[block[at] as number] as number;
    if (code >= 0 || code === NESTING) this.ownStrayQuotes += 1;
    return at;
  }

  #atBreak(block: Buffer, at: number, end: number, last: boolean): number {
    if (at === end) return last ? end : NOT_ENDED;
    const isCr = block[at] === CR;
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
    this.ownStrayBreaks += 1;
    if (follows === QUOTE) this.#beforeQuote += 1;
    return GO_ON;
  }

  /**
   * Corrects `named` and `empty` by the filter, because the sums of some cells do not show whether they name a column.
   * The filter is slow, so this function stops as soon as the record cannot be a header.
   */
  #count(from: number, names: NameFilter): void {
    for (let begin = from; begin <= this.#end && this.#mayBeHeader(); ) {
      const at = this.#cellEnd(begin);
      if (!isSummed(this.#sum, at - begin)) {
        const bits = names.bitsOf(this.block, begin, at);
        if ((bits & NAMED) === 0) this.named -= 1;
        if ((bits & EMPTY) > 0) this.empty += 1;
      }
      begin = at + 1;
    }
  }

  /** Reads a cell of the record again. @returns its end */
  #cellEnd(begin: number): number {
    const { block } = this;
    let half = block[begin] === QUOTE ? INSIDE : OUTSIDE;
    let at = half === INSIDE ? begin + 1 : begin;
    this.#sum = 0;
    for (; at < this.#end; at += 1) {
      const code = this.#codes[half | (block[at] as number)] as number;
      if (code === SEPARATES) break;
      if (code >= 0) this.#sum = (this.#sum + code) | 0;
      else if (code === NESTING) this.#sum = (this.#sum + UNSURE) | 0;
      else if (code !== CLOSES) continue;
      else if (at + 1 < this.#end && block[at + 1] === QUOTE) at += 1;
      else half = OUTSIDE;
    }
    return at;
  }
}

/** `NAMED` if a cell may name a column, by the sum of its weights; otherwise 0. */
const bitsOf = (sum: number, length: number, bitsBySum: Uint8Array) =>
  isSummed(sum, length) ? (bitsBySum[sum & MASK] as number) : NAMED;

/** Whether the sum of the weights of a cell shows what the cell may name: not if it may contain records, for example. */
const isSummed = (sum: number, length: number) => sum < UNSURE && length <= LONGEST_SUMMED;
