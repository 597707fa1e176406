import { remembered } from '../columns/header.ts';
import { folded } from '../folded.ts';
import { type Decoder, windows1255 } from './encoding.ts';

/** The cells of a record that `NameFilter` has judged. */
export interface CellCounts {
  cells: number;
  /** Cells that may name a column, and cells without a letter or digit. */
  named: number;
  empty: number;
  /** Whether all cells with a text (at least two cells) have the same first or the same last character. */
  alike: boolean;
}

const DOT = '.'.charCodeAt(0);
/** Bytes that may begin a note after a name. */
const NOTES = Buffer.from('([{</|*?:=\r\n');
/**
 * The weight of bytes that require decoding the cell: a dot, a byte that may begin a note, and a byte that is folded
 * together with others. It exceeds the sum of all other weights in a usual cell.
 */
export const UNSURE = 1 << 21;
export const MASK = 0xffff;
const QUOTE = 0x22;
const BLANK = 0x20;
/** The bit by which small letters differ from capitals in ASCII. */
const SMALL = 0x20;
const LAST_OF_ASCII = 0x7f;
/** A path has at most 80 characters, so it has no more parts than this. */
const MOST_PARTS = 80;
/** Two bits about a cell: it may name a column; it has neither letters nor digits. */
export const NAMED = 2;
export const EMPTY = 1;
/**
 * The weight of a digit, a multiple of `MASK + 1`. A digit shows that a cell has text, but does not change the part of
 * the sum by which names are found, because digits may decorate a name.
 */
const DIGIT_WEIGHT = MASK + 1;
/** The weight of a byte of a folded text. */
function weightOf(byte: number): number {
  if (isDigit(byte)) return DIGIT_WEIGHT;
  return byte <= LAST_OF_ASCII && !/[a-z]/.test(String.fromCharCode(byte)) ? 0 : Math.imul(byte + 1, 0x9e3779b1) >>> 16;
}
/** By code: the weight of a folded character outside ASCII plus 1; 0 = not computed yet; -1 = the cell must be decoded. */
const WEIGHTS = new Int32Array(1 << 16);
/** Characters whose folding depends on their neighbours, and the dot, which separates the parts of a path. */
const TOGETHER = /[.\p{M}\p{Cs}\u1100-\u11ff\uac00-\ud7ff\u03c3]/u;
/** The lowest first byte of UTF-8 characters of two, three and four bytes. */
const FIRST_OF_TWO = 0xc2;
const FIRST_OF_THREE = 0xe0;
const FIRST_OF_FOUR = 0xf0;
/** The first character code that takes three bytes in UTF-8. */
const SHORTEST_OF_THREE = 0x800;
/** The buffer for texts of a sheet. A longer text gets its own buffer. */
const SCRATCH = Buffer.allocUnsafeSlow(4096);

/**
 * Excludes cells that cannot name a column, without decoding them. Each letter has a weight, a sign has none. A cell is
 * `NAMED` if the sum of its weights is the sum of a name. Few other texts have such a sum. It is `EMPTY` if it has
 * neither letters nor digits. The edges of a cell are its first and last character.
 */
export class NameFilter {
  /** The weight of each byte of a text. */
  readonly weights = new Int32Array(256);
  /** Whether a name has this sum of weights: the bit `NAMED`. */
  readonly bitsBySum = new Uint8Array(MASK + 1);
  /** Names may be decorated: `phone (hidden)`, `lead_phone`. */
  readonly decorated: boolean;
  readonly #decoder: Decoder;
  /** The sum of the weights before each part of a path. */
  readonly #sums = new Int32Array(MOST_PARTS + 1);
  readonly #bitsOfLong = remembered((text) => this.bitsOf(Buffer.from(text), 0, Buffer.byteLength(text)));

  constructor(decoder: Decoder, named: readonly string[], decorated: boolean) {
    this.#decoder = decoder;
    this.decorated = decorated;
    for (let byte = 0; byte < 256; byte += 1) {
      const letter = folded(String.fromCharCode(byte)).charCodeAt(0);
      if (byte < 0x80) this.weights[byte] = letter > 0 ? weightOf(letter) : 0;
      else this.weights[byte] = this.#isHebrew(byte) ? weightOf(byte) : UNSURE;
    }
    this.weights[DOT] = UNSURE;
    if (decorated) for (const byte of NOTES) this.weights[byte] = UNSURE;
    for (const text of named) this.#add(text);
  }

  /** Judges a cell by its bytes. @returns bits such as `NAMED`: the cell may name a column */
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
    if (total === 0 && parts === 0) return EMPTY;
    return bits | this.#bitsOfRuns(parts, total) | (this.bitsBySum[total & MASK] as number);
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
    const counts = {
      cells: texts.length,
      named: 0,
      empty: 0,
      alike: this.decorated && isAlike(texts.filter((text) => /[\p{L}\p{N}]/u.test(text))),
    };
    for (const text of texts) {
      const isLong = text.length * 3 > SCRATCH.length;
      const bits = isLong ? this.#bitsOfLong(text) : this.bitsOf(SCRATCH, 0, SCRATCH.write(text));
      if ((bits & NAMED) > 0) counts.named += 1;
      if ((bits & EMPTY) > 0) counts.empty += 1;
    }
    return counts;
  }

  /** Whether the last part of a path, alone or with the parts before it, may name a column. */
  #bitsOfRuns(parts: number, total: number): number {
    const { bitsBySum } = this;
    const sums = this.#sums;
    let bits = 0;
    for (let part = 0; part <= parts; part += 1) bits |= bitsBySum[(total - (sums[part] as number)) & MASK] as number;
    return bits;
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

/** Whether all texts begin or end with the same sign or letter. */
function isAlike(texts: readonly string[]): boolean {
  const isSame = (at: number) => {
    const [first = '', ...others] = texts.map((text) => text.trim().at(at)?.toLowerCase());
    return !isDigit(first.charCodeAt(0)) && others.every((edge) => edge === first);
  };
  return texts.length > 1 && (isSame(0) || isSame(-1));
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** The edges that two cells share: the same first character, or the same last character. */
const HEADS = 1;
const TAILS = 2;

/** The edges that two non-empty cells share: `HEADS`, `TAILS`, both or 0. */
export function sharedEdgesOf(block: Uint8Array, from: number, to: number, nextFrom: number, nextTo: number): number {
  const head = edgeOf(block, from, 1);
  const tail = edgeOf(block, to - 1, -1);
  const heads = !isDigit(head) && head === edgeOf(block, nextFrom, 1) ? HEADS : 0;
  return !isDigit(tail) && tail === edgeOf(block, nextTo - 1, -1) ? heads | TAILS : heads;
}

/** The first or last byte of a cell that is neither a quotation mark nor a blank, in lower case. */
function edgeOf(block: Uint8Array, at: number, inwards: 1 | -1): number {
  const byte = block[at] as number;
  return ((byte === QUOTE || byte === BLANK ? block[at + inwards] : byte) as number) | SMALL;
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
