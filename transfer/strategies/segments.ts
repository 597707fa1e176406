import type { Part } from '../base/parts.ts';

/** Consecutive parts that one connection fetches in order: those from `next` up to, not including, `end`, by index. */
export class Segment {
  readonly #parts: readonly Part[];
  #next: number;
  #end: number;
  /** Whether a connection works on it. */
  taken = false;

  constructor(parts: readonly Part[], next: number, end: number) {
    this.#parts = parts;
    this.#next = next;
    this.#end = end;
  }

  /** How many parts nobody has begun. */
  get left(): number {
    return this.#end - this.#next;
  }

  /** Begins the next part. */
  begin(): Part | undefined {
    if (this.left <= 0) return undefined;
    this.#next += 1;
    return this.#parts[this.#next - 1];
  }

  /** The end of the bytes that follow each other without a gap from this part on. */
  contiguousEnd(part: Part): number {
    let end = part.to;
    for (const following of this.#parts.slice(this.#next, this.#end)) {
      if (following.from !== end) return end;
      end = following.to;
    }
    return end;
  }

  /** Cuts off the second half. */
  split(): Segment {
    const middle = this.#end - Math.ceil(this.left / 2);
    const half = new Segment(this.#parts, middle, this.#end);
    this.#end = middle;
    return half;
  }

  /** The part that was begun last has to be begun again. */
  giveBack(): void {
    this.#next -= 1;
  }
}

/** The missing parts. Work stealing: an idle connection takes half of the longest remaining segment, so that all end together. */
export class Segments {
  readonly #segments: Segment[];

  constructor(parts: readonly Part[], connections: number) {
    const count = Math.min(connections, parts.length);
    const cut = (index: number) => Math.round((index * parts.length) / count);
    this.#segments = Array.from({ length: count }, (_, index) => new Segment(parts, cut(index), cut(index + 1)));
  }

  /** A segment to work on; `undefined` when nothing is left to begin. */
  take(): Segment | undefined {
    const free = this.#segments.find(({ taken, left }) => !taken && left > 0) ?? this.#steal();
    if (free) free.taken = true;
    return free;
  }

  /** Whether a part is left that nobody has begun. */
  get left(): boolean {
    return this.#segments.some(({ left }) => left > 0);
  }

  /** Half of the longest segment. A last part is not worth a connection. */
  #steal(): Segment | undefined {
    const longest = this.#segments.toSorted((a, b) => b.left - a.left)[0];
    if (!longest || longest.left < 3) return undefined;
    const half = longest.split();
    this.#segments.push(half);
    return half;
  }
}
