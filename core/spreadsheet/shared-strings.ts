import { ReadingUnfinished } from '../file/reading-limits.ts';
import { UnreadableFile } from '../file/unreadable-file.ts';
import type { AllowedText } from './allowed-text.ts';
import { unescaped } from './cell-text.ts';
import { readXml } from './xml.ts';

/** The texts of a workbook, which cells refer to by number. */
export interface SharedStrings {
  /** @throws UnreadableFile if the text does not exist */
  get(number: number): string;
  /** Counts texts that `get` has never returned, without empty ones. */
  unused(): number;
}

/** A sheet of a million rows and ten columns has fewer cells than this. */
const MOST_STRINGS = 20_000_000;
/** The limit in bytes of UTF-8: all shared texts are in memory at once. */
export const MOST_SHARED_BYTES = 256_000_000;
/** Excel's own limit is 32,767 characters. Other writers have no limit. */
export const LONGEST_TEXT = 8 * 1024 * 1024;

/**
 * Reads the shared texts of a workbook, without their formatting.
 * @param others receives text in the part that is not a shared text
 * @throws UnreadableFile, ReadingUnfinished; any error from reading the bytes
 */
export async function readSharedStrings(
  chunks: AsyncIterable<Uint8Array>,
  others?: AllowedText,
): Promise<SharedStrings> {
  const strings = new Strings();
  let text = '';
  let inText = false;
  let run = '';
  await readXml(chunks, {
    open: (name, depth, attributes) => {
      others?.open(name, attributes);
      if (depth === 2) text = '';
      if (depth === 3) run = name;
      // Phonetic runs (`rPh`) are left out: they contain the pronunciation of a text.
      inText = name === 't' && (depth === 3 || (depth === 4 && run === 'r'));
    },
    text: (piece) => {
      if (inText) text += piece;
      else others?.text(piece);
      if (text.length > LONGEST_TEXT) throw new UnreadableFile('has a text of several megabytes');
    },
    close: (name, depth) => {
      inText = false;
      others?.close();
      if (depth === 2 && name === 'si') strings.add(unescaped(text));
    },
    aside: () => others?.aside(),
  });
  return strings;
}

const PAGE_BYTES = 1024 * 1024;
/** The arrays for starts and used marks have one part for this number of texts. */
const PART = 65_536;
/** Number of decoded texts that are cached: many cells have the same text, such as a status. */
const RECENT = 4096;
const LONGEST_RECENT = 64;

/** Keeps the texts as bytes: a JavaScript string of a few letters takes several times as much memory. */
class Strings implements SharedStrings {
  #count = 0;
  #bytes = 0;
  #unused = 0;
  readonly #pages: Buffer[] = [];
  readonly #starts: Uint32Array[] = [];
  readonly #used: Uint8Array[] = [];
  readonly #recentNumbers = new Int32Array(RECENT).fill(-1);
  readonly #recentTexts: string[] = new Array(RECENT).fill('');

  constructor() {
    this.#startAt(0, 0);
  }

  add(text: string): void {
    if (this.#count >= MOST_STRINGS) throw new UnreadableFile(`has more than ${MOST_STRINGS} shared texts`);
    const before = this.#bytes;
    const at = before % PAGE_BYTES;
    // In UTF-8, a UTF-16 unit takes at most three bytes.
    if (at > 0 && text.length * 3 <= PAGE_BYTES - at) this.#bytes += this.#pages.at(-1)?.write(text, at) ?? 0;
    else this.#append(Buffer.from(text));
    if (this.#bytes > MOST_SHARED_BYTES) throw new ReadingUnfinished('has more than 256 MB of shared texts');
    if (text !== '') this.#unused += 1;
    this.#count += 1;
    this.#startAt(this.#count, this.#bytes);
  }

  get(number: number): string {
    if (!(number >= 0 && number < this.#count)) {
      throw new UnreadableFile('refers to a shared text that it does not have');
    }
    const slot = number % RECENT;
    if (this.#recentNumbers[slot] === number) return this.#recentTexts[slot] ?? '';
    const text = this.#read(this.#startOf(number), this.#startOf(number + 1));
    this.#use(number, text);
    if (text.length <= LONGEST_RECENT) {
      this.#recentNumbers[slot] = number;
      this.#recentTexts[slot] = text;
    }
    return text;
  }

  unused(): number {
    return this.#unused;
  }

  #use(number: number, text: string): void {
    const used = this.#used[Math.floor(number / PART)];
    if (!used || used[number % PART] === 1) return;
    used[number % PART] = 1;
    if (text !== '') this.#unused -= 1;
  }

  #append(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const at = this.#bytes % PAGE_BYTES;
      if (at === 0) this.#pages.push(Buffer.allocUnsafeSlow(PAGE_BYTES));
      const piece = bytes.subarray(from, from + PAGE_BYTES - at);
      this.#pages.at(-1)?.set(piece, at);
      from += piece.length;
      this.#bytes += piece.length;
    }
  }

  #startAt(number: number, start: number): void {
    const part = Math.floor(number / PART);
    this.#starts[part] ??= new Uint32Array(PART);
    this.#used[part] ??= new Uint8Array(PART);
    this.#starts[part][number % PART] = start;
  }

  #startOf(number: number): number {
    return this.#starts[Math.floor(number / PART)]?.[number % PART] ?? 0;
  }

  #read(from: number, to: number): string {
    const first = Math.floor(from / PAGE_BYTES);
    const last = Math.floor(Math.max(from, to - 1) / PAGE_BYTES);
    const pieceOf = (page: number) =>
      this.#pages[page]?.subarray(Math.max(0, from - page * PAGE_BYTES), to - page * PAGE_BYTES) ?? Buffer.alloc(0);
    if (first === last) return pieceOf(first).toString('utf8');
    const pages = Array.from({ length: last - first + 1 }, (_, place) => pieceOf(first + place));
    return Buffer.concat(pages).toString('utf8');
  }
}
