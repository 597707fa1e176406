/** Words of a slot: the 16 bytes of an id and its line; line 0 marks a free slot. */
const WORDS = 5;
const LINE = 4;
/** Tables grow one by one, so that only a small part of all is there twice. */
const TABLES = 64;
const SMALLEST = 64;
const FULLEST = 0.75;

/**
 * Which ids have been seen, and where: a million ids take 27 to 40 MB. The largest file has 4.79 million of the shortest lines: with
 * this the process that validates it has 364 MB at its fullest, with a Map 694 (keys are numbers) to 798 MB (keys are texts), and
 * ValidateBatch has 512.
 */
export class SeenIds {
  readonly #tables = Array.from({ length: TABLES }, () => new IdTable());
  readonly #id = new Uint32Array(4);

  /**
   * Notes a UUID, whose letter case does not count.
   * @returns the line on which it stood first, or `undefined` when it is new.
   */
  seenBefore(id: string, line: number): number | undefined {
    readId(id, this.#id);
    const sum = hash(this.#id);
    return this.#tables[sum % TABLES]?.seenBefore(this.#id, Math.floor(sum / TABLES), line);
  }
}

class IdTable {
  #words = new Uint32Array(SMALLEST * WORDS);
  #size = 0;

  seenBefore(id: Uint32Array, sum: number, line: number): number | undefined {
    const at = placeOf(this.#words, id, sum);
    const first = this.#words[at + LINE];
    if (first) return first;
    this.#words.set(id, at);
    this.#words[at + LINE] = line;
    this.#size += 1;
    if (this.#size > (this.#words.length / WORDS) * FULLEST) this.#grow();
    return undefined;
  }

  #grow(): void {
    const larger = new Uint32Array(Math.floor((this.#words.length / WORDS) * 1.5) * WORDS);
    for (let from = 0; from < this.#words.length; from += WORDS) {
      if (!this.#words[from + LINE]) continue;
      const slot = this.#words.subarray(from, from + WORDS);
      larger.set(slot, placeOf(larger, slot, Math.floor(hash(slot) / TABLES)));
    }
    this.#words = larger;
  }
}

/** The slot of the id in a table, or else the free one where it belongs. */
function placeOf(words: Uint32Array, id: Uint32Array, sum: number): number {
  let at = (sum % (words.length / WORDS)) * WORDS;
  while (words[at + LINE]) {
    if (words[at] === id[0] && words[at + 1] === id[1] && words[at + 2] === id[2] && words[at + 3] === id[3]) {
      return at;
    }
    at += WORDS;
    if (at === words.length) at = 0;
  }
  return at;
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

function readId(id: string, into: Uint32Array): void {
  let word = 0;
  let digits = 0;
  for (let at = 0; at < id.length; at += 1) {
    const code = id.charCodeAt(at);
    if (code === 0x2d) continue;
    // 0-9 are 0x30-0x39; letters of either case end in 1-6; 0x2d is the hyphen.
    word = (word << 4) | (code <= 0x39 ? code & 15 : (code & 7) + 9);
    digits += 1;
    if ((digits & 7) === 0) into[(digits >> 3) - 1] = word;
  }
}
