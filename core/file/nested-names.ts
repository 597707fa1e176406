import { HUMPS } from '../folded.ts';
import { cellsOf, SEPARATORS } from './csv-cells.ts';
import { type Decoder, windows1255 } from './encoding.ts';

/**
 * Matches a key of JSON, also of JSON inside a JSON text, or the end tag of an XML element. Other texts have braces and
 * quotation marks elsewhere.
 */
const KEYS = /[{,]\s*\\*["']((?:[^"'{,\\\n]|\\.){1,100}?)\\*["']\s*:|<\/([^\s<>]{1,100})>/g;
/** Matches an ordinary word, such as `title`: as a key inside a cell, it does not show that a column is there. */
const WORD = /^[A-Z]?[a-z]+$/;
/**
 * Number of letters by which a word is found. More letters would miss spellings. Fewer are part of so many words that
 * reading a file takes ten times as long.
 */
const LONGEST_PART = 3;

/** Matches a text that may contain JSON, XML or several lines. */
const MAY_NEST = /[{<\r\n]/;
export const LINE_BREAK = /[\r\n\x85\u2028\u2029]+/;

const PAGE_SEPARATORS = [...SEPARATORS, '|'];

interface Questions {
  /** The most cells that a header can have. */
  widest: number;
  /** Whether a text names a left-out column. */
  isLeftOut: (text: string) => boolean;
  /** A quick test of a line. */
  mayBeHeader: (line: string) => boolean;
  /** Whether cells are a header with a left-out column. */
  isHeader: (cells: readonly string[]) => boolean;
}

/** Finds left-out columns inside a cell that holds JSON, XML or records. In any other cell, their names are free text. */
export class NestedNames {
  /** Parts of the names, by their first two bytes. */
  readonly #parts: ReadonlyMap<number, Uint8Array[]>;
  /** Whether two bytes begin a part. This test is faster than a search in `#parts`. */
  readonly #begins = new Uint8Array(1 << 16);
  /** Whether a name is a single byte, which may be in any record. */
  readonly #isAnywhere: boolean;
  readonly #questions: Questions;

  /** @param names of the left-out columns, and their labels */
  constructor(names: readonly string[], decoder: Decoder, questions: Questions) {
    const texts = new Set(names.filter((name) => name !== '').flatMap(partsOfSpellings));
    const parts = Array.from(texts, (text) => (decoder === 'windows-1255' ? windows1255(text) : Buffer.from(text)));
    this.#isAnywhere = parts.some(({ length }) => length === 1);
    this.#parts = Map.groupBy(parts, (part) => twoBytes(part, 0));
    for (const two of this.#parts.keys()) this.#begins[two] = 1;
    this.#questions = questions;
  }

  /** A quick test of all cells of a record. Native searches take longer for texts as short as these. */
  mayBeIn(block: Uint8Array, from: number, to: number): boolean {
    if (this.#isAnywhere) return true;
    for (let at = from; at < to; at += 1) {
      if (this.#begins[twoBytes(block, at)] === 1 && this.#isAt(block, at)) return true;
    }
    return false;
  }

  #isAt(block: Uint8Array, at: number): boolean {
    const parts = this.#parts.get(twoBytes(block, at));
    return parts?.some((part) => part.every((byte, place) => block[at + place] === byte)) ?? false;
  }

  /** Whether a cell holds JSON, XML or records with a left-out column. */
  areIn(cell: string): boolean {
    return MAY_NEST.test(cell) && (this.#areKeysIn(cell) || this.#isPage(cell));
  }

  /** Whether the name of a left-out column is a key of JSON or an element of XML. */
  #areKeysIn(cell: string): boolean {
    const { isLeftOut } = this.#questions;
    for (const [, key, name = key ?? ''] of cell.matchAll(KEYS)) if (!WORD.test(name) && isLeftOut(name)) return true;
    return false;
  }

  /** Whether a cell has a header with a left-out column, and a line with as many cells below the header. */
  #isPage(cell: string): boolean {
    const { widest, mayBeHeader, isHeader } = this.#questions;
    const lines = cell.split(LINE_BREAK);
    const isFound = (at: number) =>
      PAGE_SEPARATORS.some((separator) => {
        const [header = [], below] = lines.slice(at, at + 2).map((text) => cellsOf(text, separator, true));
        const isAsWide = header.length > 1 && header.length <= widest && below?.length === header.length;
        // In ordinary text, a space follows a comma.
        const isText = header.some((text) => text.startsWith(' '));
        return isAsWide && !isText && isHeader(header);
      });
    return lines.some((line, at) => mayBeHeader(line) && isFound(at));
  }
}

const twoBytes = (bytes: Uint8Array, at: number) => ((bytes[at] as number) << 8) | (bytes[at + 1] as number);

/**
 * Texts to search for. Every usual spelling of a name contains one of them: the first letters of its longest word, in
 * three letter cases. The rest of the word varies: `birthdate` is also written `birthDate` and `birth_date`.
 */
function partsOfSpellings(name: string): string[] {
  // Letters of other scripts differ between the forms of a text: `ß` is also `SS`.
  const text = longestWord(name, /[^a-zא-ת]+/i) || longestWord(name, /[^\p{L}\p{M}\p{N}]+/u) || name;
  const part = text.slice(0, LONGEST_PART);
  return [part, part.toLowerCase(), part.toUpperCase(), part.replace(/^./u, (first) => first.toUpperCase())];
}

function longestWord(name: string, between: RegExp): string {
  const words = name.replace(HUMPS, ' ').split(between);
  return words.reduce((longest, word) => (word.length > longest.length ? word : longest));
}
