import type { FieldIndex } from '../columns/header.ts';
import { EXACT_NAMES, HeaderRule, type KnownColumns, type Verdict } from '../columns/header-rule.ts';
import { folded, visible } from '../folded.ts';
import type { Decoder } from './encoding.ts';
import { afterQuoted, cellsOf, type Separator } from './scanner.ts';

/** What the records after the first are compared with. */
export interface HeaderSearch extends KnownColumns {
  separator: Separator;
  decoder: Decoder;
  /** The cells of the first record. */
  header: readonly string[];
  index: FieldIndex;
}

const QUOTE = 0x22;
/** Records of which the verdict is kept. */
const MOST_KEPT = 1000;

/**
 * Finds headers further down in a CSV file: pages that were glued together, or a second table. A record is one if it repeats
 * the first record, folded, or by the rule for headers.
 */
export class LaterHeaders {
  repeated = 0;
  /** Those of other columns, or of another order. */
  other = 0;
  /** Those of them that name a column that is left out. */
  leftOut = 0;
  readonly #search: HeaderSearch;
  readonly #rule: HeaderRule;
  readonly #filter: CellFilter;
  /** The cells of the first record, folded, and as one text. */
  readonly #header: readonly string[];
  readonly #text: string;
  /** Empty cells of the first record. */
  readonly #mayBeEmpty: number;
  readonly #othersShift: number;
  /** The same records may come again and again. */
  readonly #judged = new Map<string, Verdict | 'repeated'>();

  constructor(search: HeaderSearch) {
    const { header, listed, index, covered, separator, decoder } = search;
    const { columns, fields, excepted, labels } = listed;
    this.#search = search;
    this.#header = withoutEmptyEnd(header.map(folded));
    this.#text = foldedRecord(header);
    this.#mayBeEmpty = this.#header.filter((cell) => cell === '').length;
    this.#rule = new HeaderRule(search, index);
    // Half of the cells of a header may name nothing, or none.
    this.#othersShift = this.#rule.covers ? 1 : 31;
    const texts = fields.flatMap(({ name, label }) => [name, label ?? '']);
    const left = excepted.flatMap(({ name, label }) => [name, label ?? '']);
    const hashed = fields.flatMap(({ name, label }) =>
      [name, label ?? ''].some((text) => this.#rule.covered.has(folded(text))) ? [name, label ?? ''] : [],
    );
    const known = [...columns, ...texts, ...Object.keys(labels), ...header];
    this.#filter = new CellFilter(separator, decoder, known);
    this.#filter.addCovered([...left, ...covered, ...hashed, ...(this.#rule.covers ? Object.keys(labels) : [])]);
  }

  /** No cell that names a column begins with the byte. */
  isOdd(byte: number): boolean {
    return this.#filter.begins[byte] === 0;
  }

  /** Whether a record is worth a look. @param odd cells that begin with odd bytes, or are empty */
  mayBe(cells: number, odd: number): boolean {
    return odd <= this.#mayBeEmpty + (cells >> this.#othersShift) || cells > this.#header.length;
  }

  /** Looks at a record after the first. */
  look(block: Buffer, from: number, to: number, cells: number, quoted: boolean, odd: number): void {
    const possible = cells - odd;
    const beyond = this.#header.length > 0 ? Math.max(0, cells - this.#header.length) : 0;
    const all = cells - this.#mayBeEmpty - beyond;
    const needed = this.#rule.covers && cells > EXACT_NAMES ? all - (cells >> 1) : all;
    if (possible < needed || !this.#filter.mayName(block, from, to, possible, needed, all)) return;
    const { separator, decoder } = this.#search;
    const text = decoded(block.subarray(from, to), decoder);
    const found = this.#judged.get(text) ?? this.#judge(cellsOf(text, separator, quoted));
    if (this.#judged.size < MOST_KEPT) this.#judged.set(text, found);
    if (found === 'repeated') this.repeated += 1;
    else if (found !== 'none') this.other += 1;
    if (found === 'leftOut') this.leftOut += 1;
  }

  #judge(all: string[]): Verdict | 'repeated' {
    if (this.#header.length > 0 && foldedRecord(all) === this.#text) return 'repeated';
    const cells = withoutEmptyEnd(all);
    const lacks = cells.some((cell, place) => visible(cell) === '' && (this.#header[place] ?? '') !== '');
    return this.#rule.judge(cells, lacks);
  }
}

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

/** Bytes of a folded text: letters in lower case. */
const DROPPED = 0;
/** The byte may belong to a letter that folding changes or drops. */
const CHANGED = 255;
const SEED = 0x811c9dc5;
const PRIME = 0x01000193;
const MASK = 0xffff;
const DOT = 0x2e;
/** What a cell may name. */
const NOTHING = 0;
const NAMED = 1;
const COVERED = 3;
/** A cell that was counted as odd. */
const IS_ODD = 4;

/** Tells of most cells that they name no column, without decoding them: by hashes of their folded bytes and of each word. */
class CellFilter {
  readonly #separator: number;
  readonly #decoder: Decoder;
  readonly #folded = new Uint8Array(256);
  /** Bytes that a cell may begin with. */
  readonly begins = new Uint8Array(256);
  readonly #known = new Uint8Array(MASK + 1);
  /** Where the cell that was looked at ends. */
  #end = 0;

  constructor(separator: Separator, decoder: Decoder, texts: readonly string[]) {
    this.#separator = separator.charCodeAt(0);
    this.#decoder = decoder;
    for (let byte = 0; byte < 256; byte += 1) {
      this.#folded[byte] = byte < 0x80 ? asciiFolded(byte) : this.#isHebrew(byte) ? byte : CHANGED;
      // A path may begin with any letter.
      const letter = byte >= 0x80 || /[a-z]/i.test(String.fromCharCode(byte));
      if (letter || this.#folded[byte] === DROPPED) this.begins[byte] = 1;
    }
    this.begins[this.#separator] = 0;
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
    for (const text of texts.flatMap((each) => [each, ...each.split('.')])) {
      const bytes = this.#bytesOf(folded(text));
      if (!bytes || bytes.length === 0) continue;
      const place = hashOf(bytes) & MASK;
      this.#known[place] = (this.#known[place] as number) | bits;
      for (const [byte, fold] of this.#folded.entries()) if (fold === bytes[0]) this.begins[byte] = 1;
    }
  }

  /** `undefined` where cells with such a text are never told by their bytes. */
  #bytesOf(text: string): Uint8Array | undefined {
    if (this.#decoder === 'utf-8') return Buffer.from(text);
    const codes = [...text].map((letter) =>
      letter >= 'א' && letter <= 'ת' ? letter.charCodeAt(0) - 0x4f0 : letter.charCodeAt(0),
    );
    return codes.every((code) => code < 256) ? Uint8Array.from(codes) : undefined;
  }

  /**
   * @param possible cells that are not odd
   * @param needed so many of them have to name a column, and one a covered column where they are fewer than `all`
   */
  mayName(block: Buffer, from: number, to: number, possible: number, needed: number, all: number): boolean {
    let left = possible;
    let covered = false;
    for (let at = from; at < to; at = this.#end + 1) {
      const found = this.#cell(block, at, to);
      if (found === NOTHING) left -= 1;
      if (left < needed) return false;
      if (found === COVERED) covered = true;
    }
    return covered || left >= all;
  }

  /** What the cell may name that begins there. */
  #cell(block: Buffer, from: number, to: number): number {
    const folds = this.#folded;
    const separator = this.#separator;
    const quoted = block[from] === QUOTE;
    const begin = quoted ? from + 1 : from;
    const first = block[begin] as number;
    if (this.begins[first] === 0 && !(quoted && first === separator)) return this.#skip(block, from, to);
    const stop = quoted ? QUOTE : separator;
    let hash = SEED;
    let at = begin;
    for (; at < to && block[at] !== stop; at += 1) {
      const fold = folds[block[at] as number] as number;
      if (fold === CHANGED || fold === DROPPED) return this.#bitsOfWords(block, from, to);
      hash = Math.imul(hash ^ fold, PRIME);
    }
    this.#end = quoted ? at + 1 : at;
    // Text after the closing mark belongs to the cell.
    if (quoted && this.#end < to && block[this.#end] !== separator) return this.#bitsOfWords(block, from, to);
    return this.#known[hash & MASK] as number;
  }

  #skip(block: Buffer, from: number, to: number): number {
    let at = block[from] === QUOTE ? afterQuoted(block, from + 1, to) : from;
    while (at < to && block[at] !== this.#separator) at += 1;
    this.#end = at;
    return IS_ODD;
  }

  /** The whole cell, a part of a path, or a word may name a column. Quotation marks are dropped, as by folding. */
  #bitsOfWords(block: Buffer, from: number, end: number): number {
    this.#skip(block, from, end);
    const to = this.#end;
    const folds = this.#folded;
    const known = this.#known;
    let found = 0;
    let whole = SEED;
    let part = SEED;
    let word = SEED;
    for (let at = from; at < to; at += 1) {
      const fold = folds[block[at] as number] as number;
      if (fold === CHANGED) return COVERED;
      if (fold === DROPPED) {
        found |= (known[word & MASK] as number) | (known[part & MASK] as number);
        word = SEED;
        if (block[at] === DOT) part = SEED;
      } else {
        whole = Math.imul(whole ^ fold, PRIME);
        part = Math.imul(part ^ fold, PRIME);
        word = Math.imul(word ^ fold, PRIME);
      }
    }
    return found | (known[whole & MASK] as number) | (known[part & MASK] as number) | (known[word & MASK] as number);
  }
}

function hashOf(bytes: Uint8Array): number {
  let hash = SEED;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, PRIME);
  return hash;
}

/** Whether any text of ASCII keeps such a character once it is folded, and how. */
function asciiFolded(byte: number): number {
  const text = folded(String.fromCharCode(byte));
  return text === '' ? DROPPED : text.charCodeAt(0);
}
