import { mayBeginError } from './error-text.ts';
import { EMPTY, MASK, NAMED, type NameFilter, sharedEdgesOf, UNSURE } from './name-filter.ts';
import type { NestedNames } from './nested-names.ts';

/** Passes over the records of a CSV file that no rule needs to look at: nearly all of most files. */

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;

/** Codes of the bytes that end a cell, a record or a quoted part. Other bytes have a weight. */
const SEPARATES = -1;
const ENDS_LF = -2;
const ENDS_CR = -3;
const CLOSES = -4;
/** A byte that may begin records inside of a cell: those of JSON, or the second record of a page. */
const NESTING = -5;
const BRACE = 0x7b;
/** Bytes that may separate the cells of such a page. */
const SEPARATING = Uint8Array.from({ length: 256 }, (_, byte) => (Buffer.from(',;\t').includes(byte) ? 1 : 0));

/** A bit for each kind of line break. */
export const LINE_BREAKS = { lf: 1, crlf: 2, cr: 4 } as const;

/**
 * Tables: the code of each byte outside and inside quotation marks, and, by the sum of the codes of a cell, whether the
 * cell may name a column. As constants of the module they are read half again as fast as members of an object.
 */
const CODES = new Int32Array(256);
const QUOTED = new Int32Array(256);
const BITS_BY_SUM = new Uint8Array(MASK + 1);
/** The reader that filled these tables, and its filter. */
let loaded: RegularRecords | undefined;
let filter: NameFilter;
/** The sum of the weights of the current cell. */
let sum = 0;
/** The current record may have records inside of a cell. */
let nests = false;

/** The sum of a longer cell could be too large. */
const LONGEST_SUMMED = 1000;

interface Options {
  separator: string;
  /** Number of cells. */
  width: number;
  names: NameFilter;
  /** Finds left-out columns inside of cells; `null` if none is left out. */
  nested: NestedNames | null;
}

/**
 * Passes over regular records. They have the width of the file and its usual line break, do not begin like the text of
 * an error, most of their cells with a text cannot name a column, the cells do not all begin or end alike, and none may
 * have records of its own with a left-out column.
 */
export class RegularRecords {
  /** The number of records that the last call of `skip` has skipped, and the position of the last one. */
  records = 0;
  from = 0;
  to = 0;
  /** The line breaks of all regular records. */
  lineBreaks = 0;
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * @param block has a line break and a quotation mark at `end`
   * @param breaksAtCr records end with CR
   * @returns the start of the first record that is not regular
   */
  skip(block: Buffer, start: number, end: number, breaksAtCr: boolean): number {
    if (loaded !== this) this.#load();
    const { width, nested } = this.#options;
    let from = start;
    this.records = 0;
    while (from < end && !mayBeginError(block, from)) {
      const to = endOf(block, from, end, width);
      const kind = to === end ? 0 : breakAt(block, to, end, breaksAtCr);
      if (kind === 0 || (nests && nested?.mayBeIn(block, from, to))) break;
      this.lineBreaks |= kind;
      this.records += 1;
      this.from = from;
      this.to = to;
      from = to + (kind === LINE_BREAKS.crlf ? 2 : 1);
    }
    return from;
  }

  #load(): void {
    const { separator, names, nested } = this.#options;
    CODES.set(names.weights);
    QUOTED.set(names.weights);
    BITS_BY_SUM.set(names.bitsBySum);
    filter = names;
    if (nested) {
      CODES[BRACE] = NESTING;
      for (const byte of [LF, CR, BRACE]) QUOTED[byte] = NESTING;
    }
    QUOTED[QUOTE] = CLOSES;
    CODES[LF] = ENDS_LF;
    CODES[CR] = ENDS_CR;
    CODES[separator.charCodeAt(0)] = SEPARATES;
    loaded = this;
  }
}

/** @returns the end of a record; the end of the block if the record is not regular */
function endOf(block: Buffer, from: number, end: number, width: number): number {
  nests = false;
  let at = from - 1;
  let cells = 0;
  let points = 0;
  /**
   * The end of the first cell, and the begin and end of the last cell. Cells without letters and digits do not count.
   */
  let firstEnd = from;
  let textBegin = from;
  let textEnd = from;
  do {
    const begin = at + 1;
    at = cellEnd(block, begin, end);
    if (sum !== 0) {
      if (cells === 0) firstEnd = at;
      textBegin = begin;
      textEnd = at;
    }
    points += isExact(at - begin) ? pointsBySum() : NAMED;
    cells += 1;
  } while (CODES[block[at] as number] === SEPARATES);
  if (cells !== width || (points >= cells && !hasFewerPoints(block, from, at, cells, points))) return end;
  // All cells can be alike only if the first and the last one are alike.
  const mayBeAlike = firstEnd === from || sharedEdgesOf(block, from, firstEnd, textBegin, textEnd) > 0;
  return filter.decorated && width > 1 && mayBeAlike ? end : at;
}

/** Whether the sum of the weights of the last cell shows what the cell may name. */
const isExact = (length: number) => sum < UNSURE && length <= LONGEST_SUMMED;

/**
 * The points of such a cell: two if it may name a column, one if it is empty. A header has at least as many points as
 * cells.
 */
const pointsBySum = () => (sum === 0 ? EMPTY : (BITS_BY_SUM[sum & MASK] as number));

/**
 * Whether a record has fewer points than cells. For this, the filter reads the cells whose sum is not exact. The filter
 * is slow, so this function is called only for records that need it, and stops as soon as the answer is certain.
 * @param most the points if each of these cells may name a column
 */
function hasFewerPoints(block: Buffer, from: number, to: number, cells: number, most: number): boolean {
  let points = most;
  for (let begin = from; begin <= to && points >= cells; ) {
    const at = cellEnd(block, begin, to);
    if (!isExact(at - begin)) points += filter.bitsOf(block, begin, at) - NAMED;
    begin = at + 1;
  }
  return points < cells;
}

/** The kind of the line break that ends a record; 0 if it is not the usual one. */
function breakAt(block: Buffer, at: number, end: number, breaksAtCr: boolean): number {
  if (block[at] === LF) return breaksAtCr ? 0 : LINE_BREAKS.lf;
  if (breaksAtCr) return LINE_BREAKS.cr;
  return block[at + 1] === LF && at + 1 < end ? LINE_BREAKS.crlf : 0;
}

/** The end of a cell, whose weights are then in `sum`. */
function cellEnd(block: Buffer, begin: number, end: number): number {
  return block[begin] === QUOTE ? skipQuoted(block, begin + 1, end) : skipUnquoted(block, begin);
}

function skipUnquoted(block: Buffer, from: number): number {
  let total = 0;
  let at = from;
  let code = CODES[block[at] as number] as number;
  while (code >= 0) {
    total = (total + code) | 0;
    at += 1;
    code = CODES[block[at] as number] as number;
  }
  sum = total;
  return code === NESTING ? skipNesting(block, at, CODES) : at;
}

/** Passes over the rest of a cell, or of a part of it, from a nesting byte on, and adds its weights to `sum`. */
function skipNesting(block: Buffer, from: number, codes: Int32Array): number {
  let at = from;
  let code = NESTING;
  let hasBreak = false;
  let isBreak = false;
  while (code >= 0 || code === NESTING) {
    const byte = block[at] as number;
    if (byte === BRACE || (hasBreak && SEPARATING[byte] === 1)) nests = true;
    isBreak = byte === LF || byte === CR;
    hasBreak ||= isBreak;
    sum = (sum + (filter.weights[byte] as number)) | 0;
    at += 1;
    code = codes[block[at] as number] as number;
  }
  // The first cell of the second record may be in quotation marks.
  if (isBreak && code === CLOSES) nests = true;
  return at;
}

/** The end of a cell in quotation marks; `end` if text follows the marks, or they do not close. */
function skipQuoted(block: Buffer, from: number, end: number): number {
  let total = 0;
  let at = from;
  do {
    let code = QUOTED[block[at] as number] as number;
    while (code >= 0) {
      total = (total + code) | 0;
      at += 1;
      code = QUOTED[block[at] as number] as number;
    }
    if (code === NESTING) {
      sum = total;
      at = skipNesting(block, at, QUOTED);
      total = sum;
    }
    at += 2;
  } while (at <= end && block[at - 1] === QUOTE);
  sum = total;
  at -= 1;
  return at < end && (CODES[block[at] as number] as number) < 0 ? at : end;
}
