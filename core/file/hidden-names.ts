import { HUMPS, letterPattern, letters, mentions } from '../folded.ts';
import { type Decoder, windows1255 } from './encoding.ts';

/**
 * Number of letters by which a name is found in bytes. More letters would miss spellings. Fewer are part of so many
 * words that reading a file takes ten times as long.
 */
const LONGEST_PART = 3;

/** Programs write letters in JSON like this: `\u05d0`. */
const ESCAPED = '\\u0';

/** Finds the names and labels of hidden columns in texts. A hidden column is left out or hashed. */
export class HiddenNames {
  /** Matches a name in `letters` of a text. */
  readonly pattern: RegExp;
  readonly #mentions: (text: string) => boolean;
  /** Matches the bytes of a part of a name, as Latin-1. */
  readonly #parts: RegExp;

  constructor(names: readonly string[], decoder: Decoder) {
    this.pattern = letterPattern(names);
    this.#mentions = mentions(names);
    const parts = new Set(names.filter((name) => name !== '').flatMap(partsOfSpellings));
    if (names.some((name) => /[^ -~]/.test(name))) parts.add(ESCAPED);
    const encode = (text: string) => (decoder === 'windows-1255' ? windows1255(text) : Buffer.from(text));
    const patterns = Array.from(parts, (part) => encode(part).toString('hex').replace(/../g, '\\x$&'));
    this.#parts = new RegExp(patterns.join('|') || '(?!)');
  }

  /** A quick test of the bytes of a record. */
  mayBeIn(block: Buffer, from: number, to: number): boolean {
    return this.#parts.test(block.toString('latin1', from, to));
  }

  /** A quick test of a text: whether it has the letters of a name, even inside a word. */
  mayMention(text: string): boolean {
    return letters(text).search(this.pattern) >= 0;
  }

  /** Whether a text has a name as whole words, in any spelling. */
  isMention(text: string): boolean {
    return this.mayMention(text) && this.#mentions(text);
  }
}

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
