import { createHash } from 'node:crypto';

const DAY_MS = 86_400_000;
/** The last day of the data. It does not depend on today: the same sandbox gives the same file every day. */
const LAST_DAY = Date.UTC(2025, 11, 31);

export type List<T> = readonly [T, ...T[]];

/** Pseudo-random values that depend only on the seed: the record's entity and number. */
export class Draw {
  /** Number of the record, from 0. */
  readonly index: number;
  #state: number;

  constructor(entity: string, index: number) {
    this.index = index;
    this.#state = createHash('sha256').update(`${entity}/${index}`).digest().readUInt32LE();
  }

  /** The next number in [0, 1) (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(list: List<T>): T {
    return list[this.int(0, list.length - 1)] ?? list[0];
  }

  /** Takes entries in turn instead of at random, so that every entry occurs in a long enough series of records. */
  turn<T>(list: List<T>): T {
    return list[this.index % list.length] ?? list[0];
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  digits(count: number): string {
    return Array.from({ length: count }, () => this.int(0, 9)).join('');
  }

  /** A date, YYYY-MM-DD, at most `daysBack` days before the last day of the data. */
  date(daysBack: number): string {
    return this.datetime(daysBack).slice(0, 10);
  }

  /** An ISO 8601 date-time in UTC. */
  datetime(daysBack: number): string {
    const at = LAST_DAY - this.int(0, daysBack) * DAY_MS + this.int(28_800, 64_800) * 1000;
    return new Date(at).toISOString().replace('.000Z', 'Z');
  }

  /** A UUID in version 4 form from a small set, as for a status, a class or a source. */
  reference(kind: string, count: number): string {
    const hex = createHash('sha256')
      .update(`${kind}/${this.int(1, count)}`)
      .digest('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }
}
