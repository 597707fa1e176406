/** Words of a slot: the 16 bytes of an id and the line on which it stands; line 0 marks a free slot. */
const WORDS = 5;
/** Tables grow one after the other, so that never more than a small part of all is there twice. */
const TABLES = 64;
const SMALLEST = 64;
const FULLEST = 0.75;

/**
 * Which ids have been seen, and where: 20 bytes for each slot, so a million ids take 27 to 40 MB where a Map of strings
 * takes several times as much.
 */
export class SeenIds {
  readonly #tables = Array.from({ length: TABLES }, () => new Table());
  readonly #id = new Uint32Array(4);

  /**
   * Notes an id. Letter case does not count.
   * @param id a UUID with its four hyphens.
   * @returns the line on which the id stood first, or `undefined` when it is new.
   */
  seenBefore(id: string, line: number): number | undefined {
    readId(id, this.#id);
    const sum = hash(this.#id);
    return this.#tables[sum % TABLES]?.seenBefore(this.#id, Math.floor(sum / TABLES), line);
  }
}

class Table {
  #slots = SMALLEST;
  #words = new Uint32Array(SMALLEST * WORDS);
  #size = 0;

  seenBefore(id: Uint32Array, sum: number, line: number): number | undefined {
    const at = placeOf(this.#words, id, sum);
    const standing = this.#words[at + 4];
    if (standing) return standing;
    copySlot(id, 0, this.#words, at);
    this.#words[at + 4] = line;
    this.#size += 1;
    if (this.#size > this.#slots * FULLEST) this.#grow();
    return undefined;
  }

  #grow(): void {
    this.#slots = Math.floor(this.#slots * 1.5);
    const larger = new Uint32Array(this.#slots * WORDS);
    const id = new Uint32Array(4);
    for (let from = 0; from < this.#words.length; from += WORDS) {
      const line = this.#words[from + 4];
      if (!line) continue;
      copySlot(this.#words, from, id, 0);
      const at = placeOf(larger, id, Math.floor(hash(id) / TABLES));
      copySlot(id, 0, larger, at);
      larger[at + 4] = line;
    }
    this.#words = larger;
  }
}

/** Where the id stands in a table, or else the free slot where it belongs. */
function placeOf(words: Uint32Array, id: Uint32Array, sum: number): number {
  let at = (sum % (words.length / WORDS)) * WORDS;
  while (words[at + 4]) {
    if (words[at] === id[0] && words[at + 1] === id[1] && words[at + 2] === id[2] && words[at + 3] === id[3]) {
      return at;
    }
    at += WORDS;
    if (at === words.length) at = 0;
  }
  return at;
}

function copySlot(source: Uint32Array, from: number, target: Uint32Array, to: number): void {
  for (let word = 0; word < 4; word += 1) target[to + word] = source[from + word] ?? 0;
}

/** Ids that are counted up differ in a few bits only: each bit has to move the whole sum. */
function hash(id: Uint32Array): number {
  let sum = 0;
  for (let word = 0; word < 4; word += 1) {
    sum = Math.imul(sum ^ (id[word] ?? 0), 0x9e3779b1);
    sum ^= sum >>> 15;
  }
  return sum >>> 0;
}

const HYPHEN = 0x2d;

function readId(id: string, into: Uint32Array): void {
  let word = 0;
  let digits = 0;
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    if (code === HYPHEN) continue;
    // 0-9 are 0x30-0x39; letters of either case end in 1-6.
    word = (word << 4) | (code <= 0x39 ? code & 15 : (code & 7) + 9);
    digits += 1;
    if ((digits & 7) === 0) into[(digits >> 3) - 1] = word;
  }
}
