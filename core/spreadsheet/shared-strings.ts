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

/** A page holds whole texts. A place of a text is the number of its page and a position below `PAGE_BYTES`. */
const POSITION_BITS = 20;
const PAGE_BYTES = 1 << POSITION_BITS;
/** The arrays for places and used marks have one part for this number of texts. */
const PART = 65_536;

interface Page {
  bytes: Buffer;
  filled: number;
}

interface Part {
  places: Uint32Array;
  /** 1 = `get` has returned the text. */
  used: Uint8Array;
}

/** Keeps the texts as bytes: a JavaScript string of a few letters takes several times as much memory. */
class Strings implements SharedStrings {
  #count = 0;
  #bytes = 0;
  #unused = 0;
  readonly #pages: Page[] = [];
  readonly #parts: Part[] = [];

  add(text: string): void {
    if (this.#count >= MOST_STRINGS) throw new UnreadableFile(`has more than ${MOST_STRINGS} shared texts`);
    const page = this.#pageFor(text);
    if (this.#count % PART === 0) this.#parts.push({ places: new Uint32Array(PART), used: new Uint8Array(PART) });
    const { places } = this.#partOf(this.#count);
    places[this.#count % PART] = ((this.#pages.length - 1) << POSITION_BITS) + page.filled;
    const written = page.bytes.write(text, page.filled);
    page.filled += written;
    this.#bytes += written;
    if (this.#bytes > MOST_SHARED_BYTES) throw new ReadingUnfinished('has more than 256 MB of shared texts');
    if (text !== '') this.#unused += 1;
    this.#count += 1;
  }

  get(number: number): string {
    if (!(number >= 0 && number < this.#count)) {
      throw new UnreadableFile('refers to a shared text that it does not have');
    }
    const place = this.#placeOf(number);
    const next = number + 1 < this.#count ? this.#placeOf(number + 1) : -1;
    const page = this.#pages[place >> POSITION_BITS] as Page;
    // The next text may begin another page.
    const to = next >> POSITION_BITS === place >> POSITION_BITS ? next % PAGE_BYTES : page.filled;
    const text = page.bytes.toString('utf8', place % PAGE_BYTES, to);
    const { used } = this.#partOf(number);
    if (text !== '' && used[number % PART] === 0) this.#unused -= 1;
    used[number % PART] = 1;
    return text;
  }

  unused(): number {
    return this.#unused;
  }

  /** The last page, or a new one if the text does not fit. */
  #pageFor(text: string): Page {
    const last = this.#pages.at(-1);
    const room = last ? PAGE_BYTES - 1 - last.filled : -1;
    // In UTF-8, a UTF-16 unit takes at most three bytes.
    if (last && (text.length * 3 <= room || Buffer.byteLength(text) <= room)) return last;
    const page = { bytes: Buffer.allocUnsafeSlow(Math.max(PAGE_BYTES, Buffer.byteLength(text))), filled: 0 };
    this.#pages.push(page);
    return page;
  }

  #placeOf(number: number): number {
    return this.#partOf(number).places[number % PART] as number;
  }

  #partOf(number: number): Part {
    return this.#parts[Math.floor(number / PART)] as Part;
  }
}
