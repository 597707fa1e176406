import { type ReadingBudget, ReadingUnfinished } from '../zip/reading-limits.ts';
import { unescaped } from './cell-text.ts';
import { StringStore } from './string-store.ts';
import { UnreadableSheet } from './unreadable-sheet.ts';
import { type XmlHandler, XmlReader } from './xml.ts';

/** The texts of a workbook that its cells refer to by number. */
export interface SharedStrings {
  /** @throws UnreadableSheet where there is no such text */
  get(number: number): string;
  /** Texts that were never asked for, empty ones aside: no cell that was read has them. */
  unused(): number;
  close(): void;
}

/** A sheet of a million rows and ten columns has fewer cells than this. */
const MOST_STRINGS = 20_000_000;
/** As UTF-8: they have to fit into the memory of a function. */
export const MOST_SHARED_BYTES = 256_000_000;
/** Excel's own limit is 32,767. Other writers know no limit. */
export const LONGEST_TEXT = 8 * 1024 * 1024;

/**
 * Reads the texts, formatted ones as plain texts; where they are many, into a file of the temporary folder.
 * @throws UnreadableSheet, ReadingUnfinished; what reading the bytes throws
 */
export async function readSharedStrings(
  chunks: AsyncIterable<Uint8Array>,
  budget: ReadingBudget,
): Promise<SharedStrings> {
  const strings = new Strings(budget);
  const reader = new XmlReader(stringsHandler((text) => strings.add(text)));
  try {
    for await (const chunk of chunks) reader.write(chunk);
    reader.end();
    return strings;
  } catch (error) {
    strings.close();
    throw error;
  }
}

/** Leaves out phonetic runs: they say how a text is spoken. */
function stringsHandler(add: (text: string) => void): XmlHandler {
  let text = '';
  let inText = false;
  let run = '';
  return {
    open: (name, depth) => {
      if (depth === 2) text = '';
      if (depth === 3) run = name;
      inText = name === 't' && (depth === 3 || (depth === 4 && run === 'r'));
    },
    text: (piece) => {
      if (inText) text += piece;
      if (text.length > LONGEST_TEXT) throw new UnreadableSheet('has a text of several megabytes');
    },
    close: (name, depth) => {
      inText = false;
      if (depth === 2 && name === 'si') add(unescaped(text));
    },
  };
}

class Strings implements SharedStrings {
  private readonly store = new StringStore();
  /** A bit for each text tells whether a cell has used it. */
  private used = new Uint8Array(1024);
  private readonly budget: ReadingBudget;

  constructor(budget: ReadingBudget) {
    this.budget = budget;
  }

  add(text: string): void {
    const { count, bytes } = this.store;
    if (count >= MOST_STRINGS) throw new UnreadableSheet(`has more than ${MOST_STRINGS} shared texts`);
    // An empty text counts as used from the start: nobody misses it.
    if (text === '') this.mark(count);
    this.store.add(text);
    this.budget.store(this.store.bytes - bytes);
    if (this.store.bytes > MOST_SHARED_BYTES) throw new ReadingUnfinished('has more than 256 MB of shared texts');
  }

  get(number: number): string {
    const known = number >= 0 && number < this.store.count;
    if (!known) throw new UnreadableSheet('refers to a shared text that it does not have');
    this.mark(number);
    return this.store.get(number);
  }

  unused(): number {
    let used = 0;
    for (const byte of this.used) used += BITS[byte] ?? 0;
    return this.store.count - used;
  }

  close(): void {
    this.store.close();
  }

  private mark(number: number): void {
    const place = number >> 3;
    if (place >= this.used.length) {
      const larger = new Uint8Array(Math.max(place + 1, 2 * this.used.length));
      larger.set(this.used);
      this.used = larger;
    }
    this.used[place] = (this.used[place] ?? 0) | (1 << (number & 7));
  }
}

/** How many bits a byte has. */
const BITS = Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length);
