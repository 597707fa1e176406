import type { FieldIndex, ListedFields } from '../columns/header.ts';
import { folded, visible } from '../folded.ts';
import type { Decoder } from './encoding.ts';
import { afterQuoted, cellsOf, type Separator } from './scanner.ts';

/** The known columns, to recognise headers among the records. */
export interface KnownColumns {
  listed: ListedFields;
  /** Columns that tables hash or leave out, as the settings name them. */
  covered: readonly string[];
}

export interface HeaderSearch extends KnownColumns {
  index: FieldIndex;
  /** The cells of the first record; empty if it is not a header, so that no record can repeat it. */
  header: readonly string[];
  separator: Separator;
  decoder: Decoder;
}

/** `leftOut`: a header that names a left-out column. `other`: any other header that does not repeat the first. */
type Verdict = 'none' | 'repeated' | 'other' | 'leftOut';

/** A record of this length or shorter is a header only if its cells are exact names. */
const EXACT_NAMES = 2;
/** The most records whose verdict is cached. */
const MOST_KEPT = 1000;
/** Encodes texts of a sheet for the filter. A text that does not fit counts as a possible header. */
const SCRATCH = Buffer.allocUnsafeSlow(4096);

/**
 * Finds headers below the first record of a file. They come from pages that were joined, or from a second table, and
 * the values below them may belong to other columns.
 *
 * A record is a header in four cases. It repeats the first record, folded. Its cells, at least three, all name
 * different fields. Its one or two cells are exact names. Or, if columns are left out or hashed, half of its cells name
 * different fields and at least one of them is such a column.
 */
export class LaterHeaders {
  repeated = 0;
  /** Headers with other columns, or with another order of columns. */
  other = 0;
  /** Headers that name a left-out column. They are also counted in `other`. */
  leftOut = 0;
  readonly #search: HeaderSearch;
  readonly #filter: CellFilter;
  readonly #names: ReadonlySet<string>;
  /** Names of the columns that tables hash or leave out, folded. */
  readonly #covered: ReadonlySet<string>;
  /** Whether columns are left out or hashed: then half of the cells are enough for a header. */
  readonly #covers: boolean;
  /** The folded cells of the first record, and the same cells as one text. */
  readonly #header: readonly string[];
  readonly #text: string;
  /** Number of empty cells in the first record. */
  readonly #mayBeEmpty: number;
  /** Verdicts of earlier records: the same record may occur many times. */
  readonly #judged = new Map<string, Verdict>();

  constructor(search: HeaderSearch) {
    const { header, listed, index, covered, separator, decoder } = search;
    const { columns, fields, excepted, labels } = listed;
    this.#search = search;
    this.#header = withoutEmptyEnd(header.map(folded));
    this.#text = foldedRecord(header);
    this.#mayBeEmpty = this.#header.filter((cell) => cell === '').length;
    this.#names = new Set([...columns, ...[...fields, ...excepted].map(({ name }) => name)]);
    this.#covered = new Set(
      covered.flatMap((entry) => [entry, ...(index.readHeader([entry]).names ?? [])]).map(folded),
    );
    this.#covers = excepted.length > 0 || this.#covered.size > 0;
    const textsOf = (all: ListedFields['fields']) => all.flatMap(({ name, label }) => [name, label ?? '']);
    const hashed = fields.filter((field) => textsOf([field]).some((text) => this.#covered.has(folded(text))));
    const texts = Object.keys(labels);
    this.#filter = new CellFilter(separator, decoder, this.#covers, [
      ...[...columns, ...textsOf(fields), ...texts, ...header],
    ]);
    this.#filter.addCovered([...textsOf([...excepted, ...hashed]), ...covered, ...(this.#covers ? texts : [])]);
  }

  /** Whether no cell that names a column begins with this byte. */
  isOdd(byte: number): boolean {
    return this.#filter.begins[byte] === 0;
  }

  /** Quick test before `look`. @param odd cells that are odd; empty ones also, unless columns are left out or hashed */
  mayBe(cells: number, odd: number): boolean {
    return odd <= this.#mayBeEmpty + (this.#covers ? cells >> 1 : 0) || cells > this.#header.length;
  }

  /** Checks a record of a CSV file. @param odd as for `mayBe` */
  look(block: Buffer, from: number, to: number, cells: number, quoted: boolean, odd: number): void {
    const beyond = this.#header.length > 0 ? Math.max(0, cells - this.#header.length) : 0;
    const all = cells - this.#mayBeEmpty - beyond;
    if (!this.#filter.mayName(block, from, to, cells - odd, this.#needed(cells, all), all)) return;
    const { separator, decoder } = this.#search;
    const read = cellsOf(decoded(block.subarray(from, to), decoder), separator, quoted);
    const trimmed = withoutEmptyEnd(read);
    // The header of a narrower table may have empty cells beside its own, as in a sheet.
    const place = this.#covers ? Math.max(0, trimmed.findIndex(isFilled)) : 0;
    this.#add(read, this.#covers ? trimmed.filter(isFilled) : trimmed, place, trimmed.slice(place));
  }

  /**
   * Checks a row of a sheet. Its empty cells do not count.
   * @param texts the filled cells
   * @param place position of the first filled cell, counted from the first column of the header
   * @param between returns the cells from the first filled one to the last
   */
  lookAtRow(texts: readonly string[], place: number, between: () => readonly string[]): void {
    const all = texts.length - this.#mayBeEmpty;
    const needed = this.#needed(texts.length, all);
    let named = texts.length;
    let covered = false;
    for (const text of texts) {
      const bits = this.#filter.bitsOfText(text);
      if ((bits & NAMED) === 0) named -= 1;
      if (named < needed) return;
      if (bits === COVERED) covered = true;
    }
    if (!covered && named < all) return;
    const cells = between();
    this.#add([...new Array<string>(Math.max(0, place)).fill(''), ...cells], texts, place, cells);
  }

  /** Number of cells that must name a column. @param all cells that must not be empty */
  #needed(cells: number, all: number): number {
    return this.#covers && cells > EXACT_NAMES ? all - (cells >> 1) : all;
  }

  #add(record: readonly string[], cells: readonly string[], place: number, placed = cells): void {
    const key = JSON.stringify([record, place]);
    const found = this.#judged.get(key) ?? this.#judge(record, cells, place, placed);
    if (this.#judged.size < MOST_KEPT) this.#judged.set(key, found);
    if (found === 'repeated') this.repeated += 1;
    else if (found !== 'none') this.other += 1;
    if (found === 'leftOut') this.leftOut += 1;
  }

  #judge(record: readonly string[], cells: readonly string[], place: number, placed: readonly string[]): Verdict {
    if (this.#header.length > 0 && place >= 0 && foldedRecord(record) === this.#text) return 'repeated';
    const lacks = placed.some((cell, at) => !isFilled(cell) && (this.#header[place + at] ?? '') !== '');
    const { excepted, unlisted, names } = this.#search.index.readHeader(cells);
    const known = unlisted.length === 0 && (names !== null || excepted > 0) && !lacks;
    if (!this.#isHeader(cells, known, excepted > 0)) return 'none';
    return excepted > 0 ? 'leftOut' : 'other';
  }

  /** @param known each cell names exactly one field, or no field by configuration */
  #isHeader(cells: readonly string[], known: boolean, leftOut: boolean): boolean {
    if (cells.length <= EXACT_NAMES) return cells.length > 0 && cells.every((cell) => this.#names.has(cell.trim()));
    const { isListed, readHeader } = this.#search.index;
    const named = cells.filter(isListed);
    const fields = new Set(named.map((cell) => folded(readHeader([cell]).names?.[0] || cell)));
    if (known && fields.size === named.length) return true;
    const covers = leftOut || [...fields].some((field) => this.#covered.has(field));
    return covers && fields.size * 2 >= cells.length;
  }
}

const isFilled = (cell: string) => visible(cell) !== '';

function withoutEmptyEnd(cells: readonly string[]): string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
}

/** The folded text of a record. Records with equal texts count as repeated. */
export function foldedRecord(cells: readonly string[]): string {
  return JSON.stringify(withoutEmptyEnd(cells.map(folded)));
}

/** Decodes the text of a record. */
export function decoded(bytes: Buffer, decoder: Decoder): string {
  return decoder === 'windows-1255'
    ? WINDOWS_1255.decode(bytes)
    : bytes.toString(decoder === 'utf-8' ? 'utf8' : decoder);
}

const WINDOWS_1255 = new TextDecoder('windows-1255');

/** The end of the cell that begins at `from`. */
export function cellEnd(block: Buffer, from: number, to: number, separator: number): number {
  let end = block[from] === QUOTE && from < to ? afterQuoted(block, from + 1, to) : from;
  while (end < to && block[end] !== separator) end += 1;
  return end;
}

const QUOTE = 0x22;
const DOT = 0x2e;
/** Results of folding a byte besides a letter: the byte is dropped, or only decoding shows the result. */
const DROPPED = 0;
const CHANGED = 255;
const SEED = 0x811c9dc5;
const PRIME = 0x01000193;
const MASK = 0xffff;
/** What a cell may name: no column, a column, or a left-out or hashed column. */
const NOTHING = 0;
const NAMED = 1;
const COVERED = 3;
/** A cell that is empty or begins with an odd byte. */
const ODD = 4;

/** Excludes cells that cannot name a column, by a hash of their folded bytes. So most cells need no decoding. */
class CellFilter {
  /** Bytes that a column name may begin with. A path may begin with any letter. */
  readonly begins = new Uint8Array(256);
  readonly #separator: number;
  readonly #decoder: Decoder;
  readonly #folded = new Uint8Array(256);
  readonly #inPath = Uint8Array.from({ length: 256 }, (_, byte) => (isInPath(byte) ? 1 : 0));
  readonly #known = new Uint8Array(MASK + 1);
  readonly #countsEmpty: boolean;

  /** @param countsEmpty whether `mayName` counts empty cells, so that they are not odd */
  constructor(separator: Separator, decoder: Decoder, countsEmpty: boolean, texts: readonly string[]) {
    this.#separator = separator.charCodeAt(0);
    this.#countsEmpty = countsEmpty;
    this.#decoder = decoder;
    for (let byte = 0; byte < 256; byte += 1) {
      const letter = String.fromCharCode(byte);
      if (byte < 0x80) this.#folded[byte] = folded(letter).charCodeAt(0) || DROPPED;
      else this.#folded[byte] = this.#isHebrew(byte) ? byte : CHANGED;
      if (byte >= 0x80 || /[a-z]/i.test(letter) || this.#folded[byte] === DROPPED) this.begins[byte] = 1;
    }
    this.begins[this.#separator] = countsEmpty ? 1 : 0;
    this.#add(texts, NAMED);
  }

  addCovered(texts: readonly string[]): void {
    this.#add(texts, COVERED);
  }

  /** Whether folding keeps the byte: a Hebrew letter, or in UTF-8 one of its two bytes. */
  #isHebrew(byte: number): boolean {
    if (this.#decoder === 'utf-8') return byte === 0xd7 || (byte >= 0x90 && byte <= 0xaa);
    return this.#decoder === 'windows-1255' && byte >= 0xe0 && byte <= 0xfa;
  }

  #add(texts: readonly string[], bits: number): void {
    for (const text of texts) {
      const bytes = this.#bytesOf(folded(text));
      if (bytes.length === 0) continue;
      const place = bytes.reduce((hash, byte) => Math.imul(hash ^ byte, PRIME), SEED) & MASK;
      this.#known[place] = (this.#known[place] as number) | bits;
      for (const [byte, fold] of this.#folded.entries()) if (fold === bytes[0]) this.begins[byte] = 1;
    }
  }

  /** The bytes of a text; empty if a cell with this text has bytes that only decoding can fold. */
  #bytesOf(text: string): Uint8Array {
    if (this.#decoder === 'utf-8') return Buffer.from(text);
    const codeOf = (letter: string) => letter.charCodeAt(0) - (letter >= 'א' && letter <= 'ת' ? 0x4f0 : 0);
    const codes = [...text].map(codeOf);
    return Uint8Array.from(codes.every((code) => code < 256) ? codes : []);
  }

  /**
   * @param possible cells that are not odd
   * @param needed number of cells that must name a column, or be empty if empty cells are counted
   * @param all number of cells that must name a column if none may be left out or hashed; otherwise half
   */
  mayName(block: Buffer, from: number, to: number, possible: number, needed: number, all: number): boolean {
    let named = possible;
    let cells = 0;
    let empty = 0;
    let covered = false;
    for (let at = from; at <= to; cells += 1) {
      if (named < needed) return false;
      const end = cellEnd(block, at, to, this.#separator);
      if (this.#countsEmpty && this.#isEmpty(block, at, end)) empty += 1;
      else {
        const bits = this.#bitsOf(block, at, end);
        if (bits === NOTHING) named -= 1;
        if (bits === COVERED) covered = true;
      }
      at = end + 1;
    }
    named -= empty;
    return named >= all || (this.#countsEmpty && covered && named * 2 >= cells - empty);
  }

  #isEmpty(block: Buffer, from: number, to: number): boolean {
    let at = from;
    while (at < to && this.#folded[block[at] as number] === DROPPED) at += 1;
    return at === to;
  }

  bitsOfText(text: string): number {
    if (text.length * 3 > SCRATCH.length) return COVERED;
    return this.#bitsOf(SCRATCH, 0, SCRATCH.write(text.trimStart() || ' '));
  }

  /** What the cell may name. Folding drops its quotation marks. */
  #bitsOf(block: Buffer, from: number, to: number): number {
    const first = block[from] === QUOTE ? from + 1 : from;
    const byte = block[first] as number;
    if (first >= to || (this.begins[byte] === 0 && !(first > from && byte === this.#separator))) return ODD;
    const folds = this.#folded;
    let hash = SEED;
    let path = true;
    let gap = false;
    for (let at = first; at < to; at += 1) {
      const byte = block[at] as number;
      const fold = folds[byte] as number;
      if (fold === CHANGED || (byte === DOT && path)) return COVERED;
      // Blanks may surround every part of a path except the last.
      if (fold === DROPPED) gap ||= this.#inPath[byte] === 0 && hash !== SEED;
      else {
        path &&= !gap && this.#inPath[byte] === 1;
        hash = Math.imul(hash ^ fold, PRIME);
      }
    }
    return this.#known[hash & MASK] as number;
  }
}

/** Whether a byte may belong to a part of a path. Bytes of invisible characters count. */
const isInPath = (byte: number) => byte >= 0x7f || byte < 0x20 || /[\w.-]/.test(String.fromCharCode(byte));
