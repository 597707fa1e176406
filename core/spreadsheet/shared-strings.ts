import { ReadingUnfinished } from '../file/reading-limits.ts';
import { UnreadableFile } from '../file/unreadable-file.ts';
import { unescaped } from './cell-text.ts';
import { readXml, UNESCAPED_TEXT, type XmlHandler } from './xml.ts';

/** A sheet of a million rows and ten columns has fewer cells than this. */
const MOST_STRINGS = 20_000_000;
/** The shortest element of a text in XML is `<si/>`. */
const SHORTEST_BYTES = 5;
/** A byte of another encoding may be three bytes in UTF-8. */
const MOST_GROWTH = 3;
/** The limit in bytes of UTF-8: all shared texts are in memory at once. */
export const MOST_SHARED_BYTES = 256_000_000;
/** Excel's own limit is 32,767 characters. Other writers have no limit. */
export const LONGEST_TEXT = 8 * 1024 * 1024;

/** A shared text without formatting. */
const ITEM = new RegExp(`<si><t(?: xml:space="preserve")?>(${UNESCAPED_TEXT})</t></si>`, 'y');

/**
 * Reads the shared texts of a workbook, without their formatting.
 * @param size the bytes of the part
 * @param others receives text in the part that is not a shared text
 * @throws UnreadableFile, ReadingUnfinished; any error from reading the bytes
 */
export async function readSharedStrings(
  chunks: AsyncIterable<Uint8Array>,
  size: number,
  others?: XmlHandler,
): Promise<SharedStrings> {
  const strings = new SharedStrings(size);
  let text = '';
  let inText = false;
  const handler: XmlHandler = {
    open: (name, depth, _attributes, parent) => {
      if (depth === 2) text = '';
      // Phonetic runs (`rPh`) are left out: they contain the pronunciation of a text.
      inText = name === 't' && (depth === 3 || (depth === 4 && parent === 'r'));
    },
    text: (piece) => {
      if (inText) text += piece;
      if (text.length > LONGEST_TEXT) throw new UnreadableFile('has a text of several megabytes');
      return inText;
    },
    close: (name, depth) => {
      inText = false;
      if (depth === 2 && name === 'si') strings.add(unescaped(text));
    },
    regular: {
      pattern: ITEM,
      mayFollow: (depth) => depth === 1,
      take: ([, text = '']) => strings.add(unescaped(text)),
    },
  };
  await readXml(chunks, handler, others);
  return strings;
}

/**
 * The texts of a workbook, which cells refer to by number. They are kept as bytes: a JavaScript string of a few letters
 * takes several times as much memory. The size of the part bounds their number and size. The system provides memory
 * only for the parts of an array that are written.
 */
export class SharedStrings {
  #count = 0;
  #unused = 0;
  readonly #bytes: Buffer;
  /** The end of each text in `#bytes`, after a 0. */
  readonly #ends: Uint32Array;
  /** 1 = `get` has returned the text. */
  readonly #used: Uint8Array;

  constructor(size: number) {
    const most = Math.min(MOST_STRINGS, Math.ceil(size / SHORTEST_BYTES));
    this.#bytes = Buffer.allocUnsafeSlow(Math.min(MOST_SHARED_BYTES, MOST_GROWTH * size));
    this.#ends = new Uint32Array(most + 1);
    this.#used = new Uint8Array(most);
  }

  add(text: string): void {
    if (this.#count === this.#used.length) throw new UnreadableFile(`has more than ${MOST_STRINGS} shared texts`);
    const from = this.#ends[this.#count] as number;
    const room = this.#bytes.length - from;
    // In UTF-8, a UTF-16 unit takes at most three bytes.
    if (text.length * 3 > room && Buffer.byteLength(text) > room)
      throw new ReadingUnfinished('has more than 256 MB of shared texts');
    if (text !== '') this.#unused += 1;
    this.#count += 1;
    this.#ends[this.#count] = from + this.#bytes.write(text, from);
  }

  /** @throws UnreadableFile if the text does not exist */
  get(number: number): string {
    if (!(number >= 0 && number < this.#count)) {
      throw new UnreadableFile('refers to a shared text that it does not have');
    }
    const text = this.#bytes.toString('utf8', this.#ends[number], this.#ends[number + 1]);
    if (text !== '' && this.#used[number] === 0) this.#unused -= 1;
    this.#used[number] = 1;
    return text;
  }

  /** Counts texts that `get` has never returned, without empty ones. */
  unused(): number {
    return this.#unused;
  }
}
