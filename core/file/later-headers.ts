import type { FieldIndex, ListedFields } from '../columns/header.ts';
import { folded, visible } from '../folded.ts';
import type { Decoder } from './encoding.ts';
import { afterQuoted, cellsOf, type Separator } from './scanner.ts';

/** What the records below a header are compared with. */
export interface KnownColumns {
  listed: ListedFields;
  /** Columns that tables hash or leave out, as the settings name them. */
  covered: readonly string[];
}

export interface HeaderSearch extends KnownColumns {
  index: FieldIndex;
  /** The cells of the first record; none where it is no header, so that no record repeats it. */
  header: readonly string[];
  separator: Separator;
  decoder: Decoder;
}

/** `leftOut`: a header that names a column that is left out. `other`: any other header. */
type Verdict = 'none' | 'repeated' | 'other' | 'leftOut';

/** Shorter records are headers only if their cells are exact names. */
const EXACT_NAMES = 2;
/** Records of which the verdict is kept. */
const MOST_KEPT = 1000;
/** Longer texts of a sheet are decoded again where they may be a header. */
const SCRATCH = Buffer.allocUnsafeSlow(4096);

/**
 * Finds headers below the first record of a file: pages that were glued together, or a second table. The values below them may
 * belong to other columns.
 *
 * A record is a header if it repeats the first record, folded; if each of its three or more cells names another field; if its one
 * or two cells are exact names; or, where columns are left out or hashed, if half of its cells name different fields and one of
 * them is such a column.
 */
export class LaterHeaders {
  repeated = 0;
  /** Those of other columns, or of another order. */
  other = 0;
  /** Those of them that name a column that is left out. */
  leftOut = 0;
  readonly #search: HeaderSearch;
  readonly #filter: CellFilter;
  readonly #names: ReadonlySet<string>;
  /** Names of the columns that tables hash or leave out, folded. */
  readonly #covered: ReadonlySet<string>;
  /** Columns are left out or hashed: half of the cells may make a header. */
  readonly #covers: boolean;
  /** The cells of the first record, folded, and as one text. */
  readonly #header: readonly string[];
  readonly #text: string;
  /** Empty cells of the first record. */
  readonly #mayBeEmpty: number;
  /** The same records may come again and again. */
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

  /** No cell that names a column begins with the byte. */
  isOdd(byte: number): boolean {
    return this.#filter.begins[byte] === 0;
  }

  /** Whether a record is worth a look. @param odd cells that begin with odd bytes; without left-out or hashed columns empty ones, too */
  mayBe(cells: number, odd: number): boolean {
    return odd <= this.#mayBeEmpty + (this.#covers ? cells >> 1 : 0) || cells > this.#header.length;
  }

  /** Looks at a record of a CSV file. @param odd as in `mayBe` */
  look(block: Buffer, from: number, to: number, cells: number, quoted: boolean, odd: number): void {
    const beyond = this.#header.length > 0 ? Math.max(0, cells - this.#header.length) : 0;
    const all = cells - this.#mayBeEmpty - beyond;
    if (!this.#filter.mayName(block, from, to, cells - odd, this.#needed(cells, all), all)) return;
    const { separator, decoder } = this.#search;
    const read = cellsOf(decoded(block.subarray(from, to), decoder), separator, quoted);
    const trimmed = withoutEmptyEnd(read);
    // As in a sheet: the header of a narrower table may have empty cells beside its own.
    const place = this.#covers ? Math.max(0, trimmed.findIndex(isFilled)) : 0;
    this.#add(read, this.#covers ? trimmed.filter(isFilled) : trimmed, place, trimmed.slice(place));
  }

  /**
   * Looks at a row of a sheet, whose empty cells do not count.
   * @param texts its filled cells
   * @param place where the first of them stands below the header
   * @param between the cells from there to the last filled one
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

  /** So many cells have to name a column. @param all cells that may not be empty */
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

  /** @param known each cell names one field, or none */
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

/** A record as others are compared with it: two with the same text repeat one another. */
export function foldedRecord(cells: readonly string[]): string {
  return JSON.stringify(withoutEmptyEnd(cells.map(folded)));
}

/** The text of a record. */
export function decoded(bytes: Buffer, decoder: Decoder): string {
  return decoder === 'windows-1255'
    ? WINDOWS_1255.decode(bytes)
    : bytes.toString(decoder === 'utf-8' ? 'utf8' : decoder);
}

const WINDOWS_1255 = new TextDecoder('windows-1255');

/** Where a cell ends that begins there. */
export function cellEnd(block: Buffer, from: number, to: number, separator: number): number {
  let end = block[from] === QUOTE && from < to ? afterQuoted(block, from + 1, to) : from;
  while (end < to && block[end] !== separator) end += 1;
  return end;
}

const QUOTE = 0x22;
const DOT = 0x2e;
/** What a byte becomes in a folded text: a letter in lower case, nothing, or what only decoding tells. */
const DROPPED = 0;
const CHANGED = 255;
const SEED = 0x811c9dc5;
const PRIME = 0x01000193;
const MASK = 0xffff;
/** What a cell may name. */
const NOTHING = 0;
const NAMED = 1;
const COVERED = 3;
/** A cell that begins with an odd byte, or is empty. */
const ODD = 4;

/** Finds the cells that certainly name no column, by a hash of their folded bytes: most cells are not decoded. */
class CellFilter {
  /** Bytes that a cell may begin with. A path may begin with any letter. */
  readonly begins = new Uint8Array(256);
  readonly #separator: number;
  readonly #decoder: Decoder;
  readonly #folded = new Uint8Array(256);
  readonly #inPath = Uint8Array.from({ length: 256 }, (_, byte) => (isInPath(byte) ? 1 : 0));
  readonly #known = new Uint8Array(MASK + 1);
  readonly #countsEmpty: boolean;

  /** @param countsEmpty empty cells are not odd: `mayName` counts them */
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

  /** A letter that folding leaves as it is. In UTF-8 the first byte of such a letter, or its second one. */
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

  /** None where a cell of such a text has bytes that only decoding tells. */
  #bytesOf(text: string): Uint8Array {
    if (this.#decoder === 'utf-8') return Buffer.from(text);
    const codeOf = (letter: string) => letter.charCodeAt(0) - (letter >= 'א' && letter <= 'ת' ? 0x4f0 : 0);
    const codes = [...text].map(codeOf);
    return Uint8Array.from(codes.every((code) => code < 256) ? codes : []);
  }

  /**
   * @param possible cells that are not odd
   * @param needed so many cells have to name a column, or be empty where empty cells are counted
   * @param all so many cells have to name a column where none of them is covered; else half of the filled cells
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

  /** What the cell may name. Quotation marks are dropped, as by folding. */
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
      // Blanks may stand around the parts of a path before the last one.
      if (fold === DROPPED) gap ||= this.#inPath[byte] === 0 && hash !== SEED;
      else {
        path &&= !gap && this.#inPath[byte] === 1;
        hash = Math.imul(hash ^ fold, PRIME);
      }
    }
    return this.#known[hash & MASK] as number;
  }
}

/** A letter of a path, also an invisible one. */
const isInPath = (byte: number) => byte >= 0x7f || byte < 0x20 || /[\w.-]/.test(String.fromCharCode(byte));
