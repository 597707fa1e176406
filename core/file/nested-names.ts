import { wordsOf } from '../folded.ts';
import { type Decoder, windows1255 } from './encoding.ts';

/** A key of JSON, also inside of a text of JSON. Other texts have braces and quotation marks, but at other places. */
const KEYS = /[{,]\s*\\*["']((?:[^"'{,\\\n]|\\.){1,100}?)\\*["']\s*:/g;
/** A key that is an ordinary word, such as `title`, may mean anything. */
const WORD = /^[A-Z]?[a-z]+$/;
/** Shorter words are part of many others. */
const SHORTEST_WORD = 4;

/** Finds left-out columns inside a cell that holds JSON or records. In any other cell, their names are free text. */
export class NestedNames {
  readonly #parts: readonly Uint8Array[];
  /** Whether two bytes begin one of these parts. */
  readonly #begins = new Uint8Array(1 << 16);
  readonly #isLeftOut: (text: string) => boolean;

  /** @param names of the left-out columns, and their labels @param isLeftOut whether a text means such a column */
  constructor(names: readonly string[], decoder: Decoder, isLeftOut: (text: string) => boolean) {
    const parts = new Set(names.flatMap(partsOfSpellings));
    this.#parts = [...parts].map((part) => (decoder === 'windows-1255' ? windows1255(part) : Buffer.from(part)));
    for (const [first = 0, second = 0] of this.#parts) this.#begins[(first << 8) | second] = 1;
    this.#isLeftOut = isLeftOut;
  }

  /** A quick test of all cells of a record. Native searches take longer for texts as short as these. */
  mayBeIn(block: Uint8Array, from: number, to: number): boolean {
    const begins = this.#begins;
    let two = 0;
    for (let at = from; at < to; at += 1) {
      two = ((two << 8) | (block[at] as number)) & 0xffff;
      if (begins[two] === 1 && this.#isAt(block, at - 1)) return true;
    }
    return false;
  }

  #isAt(block: Uint8Array, at: number): boolean {
    return this.#parts.some((part) => part.every((byte, place) => block[at + place] === byte));
  }

  /** Whether a cell has the name of such a column as a key of JSON. */
  areKeysIn(cell: string): boolean {
    for (const [, key = ''] of cell.matchAll(KEYS)) if (!WORD.test(key) && this.#isLeftOut(key)) return true;
    return false;
  }
}

/** Texts of which each usual spelling of a name has one: its longest word in three letter cases, or all of it. */
function partsOfSpellings(name: string): string[] {
  const [longest = ''] = wordsOf(name).toSorted((one, other) => other.length - one.length);
  const text = longest.length < SHORTEST_WORD ? name : longest;
  const inMarks = [1, 2, 4].map((times) => text.replaceAll('"', '"'.repeat(times)));
  return [...inMarks, text.toLowerCase(), text.toUpperCase(), text.replace(/^./u, (first) => first.toUpperCase())];
}
