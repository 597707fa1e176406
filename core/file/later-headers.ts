import type { FieldIndex, ListedFields } from '../columns/header.ts';
import { containsLetters, folded, mentions, visible } from '../folded.ts';
import type { Decoder } from './encoding.ts';
import type { Expected } from './expected-file.ts';

/** The cells of a record that `NameFilter` has looked at. */
export interface CellCounts {
  cells: number;
  named: number;
  empty: number;
}

/**
 * `leftOut`: a header with a left-out column, or, if columns are left out, with a column that is not listed. `other`:
 * any other header that does not repeat the first.
 */
type Verdict = 'none' | 'repeated' | 'other' | 'leftOut';

/** A record of this length or shorter is a header only if its cells are exact names. */
const EXACT_NAMES = 2;
/** The most records whose verdict is cached. */
const MOST_KEPT = 1000;

/**
 * Finds headers below the first record of a file. They come from pages that were joined, or from a second table, and
 * the values below them may belong to other columns.
 *
 * A record is a header in five cases. It repeats the first record, folded. Its cells, at least three, all name
 * different fields. Its one or two cells are exact names. The other two cases apply if columns are left out or hashed.
 * There, an exact name may be followed by a note: `phone:text`, `phone (hidden)`.
 *
 * - Half of three or more cells name different fields, and at least one of them is such a column.
 * - Half of two or more cells name different fields, one more cell contains the name or label of such a column as whole
 *   words, and either a cell names the column that it is in, or all others, at least two, are exact names.
 */
export class LaterHeaders {
  /** `otherHeaders` have other columns, or another order of them. `leftOutHeaders` of them name a left-out column. */
  readonly counts = { repeatedHeaders: 0, otherHeaders: 0, leftOutHeaders: 0 };
  readonly filter: NameFilter;
  readonly #index: FieldIndex;
  readonly #cells: readonly string[];
  readonly #sparse: boolean;
  readonly #names: ReadonlySet<string>;
  /** Names of the columns that tables hash or leave out, folded. */
  readonly #covered: ReadonlySet<string>;
  /** Whether columns are left out or hashed: then half of the cells are enough for a header. */
  readonly covers: boolean;
  /** Whether columns are left out: then a header must have listed columns only. */
  readonly #leavesOut: boolean;
  /** Whether a text contains the name or label of a left-out or hashed column as whole words. */
  readonly #mentions: (text: string) => boolean;
  /** A quick test before `#mentions`: whether the text has the letters of such a name. */
  readonly #mayMention: (text: string) => boolean;
  readonly #header: string;
  /** The most cells of a header: half of them name different fields, or it repeats the first record. */
  readonly #widest: number;
  /** Verdicts of earlier records: the same record may occur many times. */
  readonly #judged = new Map<string, Verdict>();

  /**
   * @param header the cells of the first record; empty if it is not a header, so that no record can repeat it
   * @param sparse records have no cell where a value is missing, as the rows of a sheet
   */
  constructor(expected: Expected, index: FieldIndex, header: readonly string[], decoder: Decoder, sparse = false) {
    const { columns, fields, excepted, labels, covered = [] } = expected;
    this.#index = index;
    this.#cells = header;
    this.#sparse = sparse;
    this.#header = foldedRecord(header);
    this.#names = new Set([...columns, ...[...fields, ...excepted].map(({ name }) => name)]);
    this.#covered = new Set(
      covered.flatMap((entry) => [entry, ...(index.readHeader([entry]).names ?? [])]).map(folded),
    );
    this.#leavesOut = excepted.length > 0;
    this.covers = this.#leavesOut || this.#covered.size > 0;
    const textsOf = (all: ListedFields['fields']) => all.flatMap(({ name, label }) => [name, label ?? '']);
    const hashed = fields.filter((field) => textsOf([field]).some((text) => this.#covered.has(folded(text))));
    const texts = Object.keys(labels);
    this.#widest = Math.max(header.length, 2 * (columns.length + fields.length + excepted.length + texts.length));
    const isCovered = (text: string) => index.readHeader([text]).excepted > 0 || this.#covered.has(this.#fieldOf(text));
    const secret = [...textsOf([...excepted, ...hashed]), ...covered, ...texts.filter(isCovered)];
    this.#mentions = mentions(secret);
    this.#mayMention = containsLetters(secret);
    const names = [...columns, ...textsOf([...fields, ...excepted]), ...covered, ...texts, ...header];
    this.filter = new NameFilter(decoder, names, this.covers);
  }

  /** A quick test before `judge`. */
  mayBe({ cells, named, empty }: CellCounts): boolean {
    const filled = cells - empty;
    return named > 0 && filled <= this.#widest && named * (this.covers ? 2 : 1) >= filled;
  }

  /**
   * Checks a record.
   * @param counts of the record
   * @param key equal for equal records
   * @param read returns the cells of the record, and the column of the header that its first cell belongs to
   */
  judge(counts: CellCounts, key: string, read: () => { record: string[]; column: number }): void {
    const { record, column } = this.#judged.has(key) ? { record: [], column: 0 } : read();
    const isNamed = counts.named >= counts.cells - counts.empty;
    const judged = () => (isNamed ? this.#judge(record, column) : this.#judgePart(record, column));
    const found = this.#judged.get(key) ?? judged();
    if (this.#judged.size < MOST_KEPT) this.#judged.set(key, found);
    if (found === 'repeated') this.counts.repeatedHeaders += 1;
    else if (found !== 'none') this.counts.otherHeaders += 1;
    if (found === 'leftOut') this.counts.leftOutHeaders += 1;
  }

  /**
   * Checks the parts into which a separator splits a record of another width: a joined page may have another separator,
   * or its records in quotation marks. Only columns that are left out or hashed make this necessary: no other check sees
   * them in such a record.
   */
  judgeParts(parts: readonly string[]): void {
    const found = this.#judgePart(parts, 0);
    if (found !== 'none') this.counts.otherHeaders += 1;
    if (found === 'leftOut') this.counts.leftOutHeaders += 1;
  }

  /** Checks a record of which not every cell may name a column: only left-out and hashed columns matter. */
  #judgePart(record: readonly string[], column: number): Verdict {
    return this.#mayMention(record.join(' ')) ? this.#judge(record, column) : 'none';
  }

  #judge(record: readonly string[], column: number): Verdict {
    const header = this.#cells;
    if (header.length > 0 && column === 0 && foldedRecord(record) === this.#header) return 'repeated';
    // The header of a narrower table may have empty cells beside its own.
    const isPadded = this.#sparse || this.covers;
    const cells = isPadded ? withoutEmptyEnd(record) : record;
    const filled = isPadded ? cells.filter(isFilled) : cells;
    const first = isPadded ? cells.findIndex(isFilled) : 0;
    const lacks = cells.some((cell, at) => at >= first && !isFilled(cell) && folded(header[column + at] ?? '') !== '');
    const named = this.covers && filled.length > 1 ? filled.map((cell) => this.#withoutNote(cell)) : filled;
    const { excepted, unlisted, names } = this.#index.readHeader(named);
    const known = unlisted.length === 0 && (names !== null || excepted > 0) && !lacks;
    if (!this.#isHeader(named, known, excepted > 0) && !this.#isAnnotated(named, cells, column)) return 'none';
    return excepted > 0 || (this.#leavesOut && unlisted.length > 0) ? 'leftOut' : 'other';
  }

  /** @param known each cell names exactly one field, or no field by configuration */
  #isHeader(cells: readonly string[], known: boolean, leftOut: boolean): boolean {
    if (cells.length <= EXACT_NAMES) return cells.length > 0 && cells.every((cell) => this.#isName(cell));
    const named = cells.filter((cell) => this.#index.isListed(cell));
    const fields = this.#fieldsOf(named);
    if (known && fields.size === named.length) return true;
    const covers = leftOut || [...fields].some((field) => this.#covered.has(field));
    return covers && fields.size * 2 >= cells.length;
  }

  /**
   * Whether a cell contains the name of a left-out or hashed column, and the others show that it is no free text.
   * @param cells the cells with a text @param record all cells @param column of the header, for the first of all
   */
  #isAnnotated(cells: readonly string[], record: readonly string[], column: number): boolean {
    if (!this.covers) return false;
    const others = cells.filter((cell) => !this.#isMention(cell));
    if (others.length === cells.length) return false;
    const named = others.map(withoutNote).filter((cell) => this.#index.isListed(cell));
    if (this.#fieldsOf(named).size * 2 < cells.length) return false;
    const isInPlace = (cell: string, at: number) => {
      const above = this.#cells[column + at] ?? '';
      return isFilled(cell) && !this.#isMention(cell) && this.#fieldOf(withoutNote(cell)) === this.#fieldOf(above);
    };
    return record.some(isInPlace) || (others.length >= EXACT_NAMES && others.every((cell) => this.#isName(cell)));
  }

  #isName(cell: string): boolean {
    return this.#names.has(cell.trim());
  }

  #fieldsOf(named: readonly string[]): ReadonlySet<string> {
    return new Set(named.map((cell) => this.#fieldOf(cell)));
  }

  #isMention(cell: string): boolean {
    return this.#mayMention(cell) && this.#mentions(cell);
  }

  /** The field that a cell names, or the cell, folded. */
  #fieldOf(cell: string): string {
    return folded((this.#index.isListed(cell) && this.#index.readHeader([cell]).names?.[0]) || cell);
  }

  /** An exact name without the note after it; any other cell as it is. */
  #withoutNote(cell: string): string {
    const name = withoutNote(cell);
    return this.#isName(name) ? name : cell;
  }
}

/** A note after a name, as in `phone (hidden)`, `phone*` or `phone:text`. `phone:050` is a value. */
const NOTE = /[([{</|*?]|[:=](?=\p{L})/u;

/** A text without the note after it. */
function withoutNote(text: string): string {
  const at = text.search(NOTE);
  return at > 0 ? text.slice(0, at) : text;
}

const isFilled = (cell: string) => visible(cell) !== '';

function withoutEmptyEnd(cells: readonly string[]): string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
}

/** The folded text of a record. Records with equal texts count as repeated. */
export function foldedRecord(cells: readonly string[]): string {
  return JSON.stringify(withoutEmptyEnd(cells.map(folded)));
}

const DOT = '.'.charCodeAt(0);
/** Bytes that may begin a note after a name. */
const NOTES = Buffer.from('([{</|*?:=');
/**
 * More than the sum of other weights in a usual cell: the weight of a dot, of a byte that may begin a note, and of a byte
 * that is folded together with others.
 */
export const UNSURE = 1 << 21;
export const MASK = 0xffff;
const LAST_OF_ASCII = 0x7f;
/** A path has at most 80 characters. */
const MOST_PARTS = 80;
/** What a cell is: it may name a column, or it has no text. */
export const NAMED = 2;
export const EMPTY = 1;
/** A cell that may name a column counts twice, an empty one once: a header has at least as many points as cells. */
export const POINTS = NAMED | EMPTY;
/** The weight of a byte of a folded text. Bytes that may begin a note have none. */
const weightOf = (byte: number) => (NOTES.includes(byte) ? 0 : Math.imul(byte + 1, 0x9e3779b1) >>> 16);
/** By code: the weight of a folded character outside ASCII plus 1; 0 = not computed yet; -1 = the cell must be decoded. */
const WEIGHTS = new Int32Array(1 << 16);
/** Characters whose folding depends on their neighbours, and the dot, which separates the parts of a path. */
const TOGETHER = /[.\p{M}\p{Cs}\u1100-\u11ff\uac00-\ud7ff\u03c3]/u;
/** The first bytes of characters of two, three and four bytes in UTF-8. */
const FIRST_OF_TWO = 0xc2;
const FIRST_OF_THREE = 0xe0;
const FIRST_OF_FOUR = 0xf0;
/** The first code that takes three bytes. */
const SHORTEST_OF_THREE = 0x800;
/** Encodes texts of a sheet. A text that does not fit may name any column. */
const SCRATCH = Buffer.allocUnsafeSlow(4096);

/**
 * Excludes cells that cannot name a column without decoding them: the weights of their letters have another sum than
 * those of each name. Letters in another order have the same sum, which is rare.
 */
export class NameFilter {
  /** The weight of each byte. */
  readonly weights = new Int32Array(256);
  /** What a cell without unsure bytes may name, by the sum of its weights. */
  readonly bitsBySum = new Uint8Array(MASK + 1);
  readonly #decoder: Decoder;
  /** The sums before the parts of a path. */
  readonly #sums = new Int32Array(MOST_PARTS + 1);

  /** @param notes a name may be followed by a note */
  constructor(decoder: Decoder, named: readonly string[], notes: boolean) {
    this.#decoder = decoder;
    for (let byte = 0; byte < 256; byte += 1) {
      const letter = folded(String.fromCharCode(byte)).charCodeAt(0);
      if (byte < 0x80) this.weights[byte] = letter > 0 ? weightOf(letter) : 0;
      else this.weights[byte] = this.#isHebrew(byte) ? weightOf(byte) : UNSURE;
    }
    this.weights[DOT] = UNSURE;
    if (notes) for (const byte of NOTES) this.weights[byte] = UNSURE;
    this.bitsBySum[0] = EMPTY;
    for (const text of named) this.#add(text);
  }

  /** What a cell may name, by its bytes. */
  bitsOf(bytes: Uint8Array, from: number, to: number): number {
    const { weights } = this;
    let total = 0;
    let bits = 0;
    let parts = 0;
    for (let at = from; at < to; at += 1) {
      const byte = bytes[at] as number;
      const weight = weights[byte] as number;
      if (weight < UNSURE) total = (total + weight) | 0;
      else if (byte > LAST_OF_ASCII) {
        const other = this.#weightAt(bytes, at, to);
        if (other === -1) return NAMED;
        total = (total + other - 1) | 0;
        at += byte < FIRST_OF_THREE ? 1 : 2;
      } else if (parts < MOST_PARTS) {
        bits |= this.#bitsOfRuns(parts, total);
        parts += 1;
        this.#sums[parts] = total;
      }
    }
    return bits | this.#bitsOfRuns(parts, total) | this.#bitsOfSum(total);
  }

  /** The entry of `WEIGHTS` for a character of two or three bytes; -1 for any other bytes. */
  #weightAt(bytes: Uint8Array, at: number, to: number): number {
    const first = bytes[at] as number;
    const isLong = first >= FIRST_OF_THREE;
    if (this.#decoder !== 'utf-8' || first < FIRST_OF_TWO || first >= FIRST_OF_FOUR || at + (isLong ? 2 : 1) >= to)
      return -1;
    const second = bytes[at + 1] as number;
    if (second >> 6 !== 2) return -1;
    let code = ((first & 31) << 6) | (second & 63);
    if (isLong) {
      const third = bytes[at + 2] as number;
      code = ((code << 6) | (third & 63)) & (WEIGHTS.length - 1);
      if (third >> 6 !== 2 || code < SHORTEST_OF_THREE) return -1;
    }
    return (WEIGHTS[code] as number) || weigh(code);
  }

  countsOf(texts: readonly string[]): CellCounts {
    const counts = { cells: texts.length, named: 0, empty: 0 };
    for (const text of texts) {
      const long = text.length * 3 > SCRATCH.length;
      const bits = long ? NAMED : this.bitsOf(SCRATCH, 0, SCRATCH.write(text));
      if ((bits & NAMED) > 0) counts.named += 1;
      if ((bits & EMPTY) > 0) counts.empty += 1;
    }
    return counts;
  }

  #bitsOfSum(sum: number): number {
    return this.bitsBySum[sum & MASK] as number;
  }

  /** What the last part of a path may name, also together with parts before it. */
  #bitsOfRuns(parts: number, total: number): number {
    const { bitsBySum } = this;
    const sums = this.#sums;
    let bits = 0;
    for (let part = 0; part <= parts; part += 1) bits |= bitsBySum[(total - (sums[part] as number)) & MASK] as number;
    return bits & ~EMPTY;
  }

  #add(text: string): void {
    const letters = folded(text);
    if (letters === '') return;
    const bytes = this.#decoder === 'windows-1255' ? windows1255(letters) : Buffer.from(letters);
    const sum = bytes.reduce((total, byte) => total + weightOf(byte), 0);
    this.bitsBySum[sum & MASK] = (this.bitsBySum[sum & MASK] as number) | NAMED;
  }

  /** Whether folding keeps the byte: a Hebrew letter, or in UTF-8 one of its two bytes. */
  #isHebrew(byte: number): boolean {
    if (this.#decoder === 'utf-8') return byte === 0xd7 || (byte >= 0x90 && byte <= 0xaa);
    return this.#decoder === 'windows-1255' && byte >= 0xe0 && byte <= 0xfa;
  }
}

function weigh(code: number): number {
  const character = String.fromCharCode(code);
  const text = folded(character);
  const weight = TOGETHER.test(character.normalize('NFKC') + text)
    ? -1
    : 1 + Buffer.from(text).reduce((total, byte) => total + weightOf(byte), 0);
  WEIGHTS[code] = weight;
  return weight;
}

/** Encodes Hebrew letters and ASCII. Cells with other characters are decoded in any case. */
function windows1255(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0) - (letter >= 'א' && letter <= 'ת' ? 0x4f0 : 0));
}
