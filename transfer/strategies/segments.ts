import type { Part } from '../base/plan.ts';

/** A run of parts that one connection fetches in order: those from `next` up to, not including, `end`, by index. */
interface Segment {
  next: number;
  end: number;
  taken: boolean;
}

/**
 * The parts that are still to come, cut into long runs: a run needs one request of the origin, however many parts it has.
 * Who is done takes half of the longest run that is left, so that all connections end together.
 */
export class Segments {
  readonly #parts: readonly Part[];
  readonly #segments: Segment[];

  constructor(parts: readonly Part[], connections: number) {
    this.#parts = parts;
    const count = Math.min(connections, parts.length);
    const cut = (index: number) => Math.round((index * parts.length) / count);
    this.#segments = Array.from({ length: count }, (_, index) => ({
      next: cut(index),
      end: cut(index + 1),
      taken: false,
    }));
  }

  /** A run to work on; `undefined` when nothing is left to begin. */
  take(): Run | undefined {
    const free = this.#segments.find(({ taken, next, end }) => !taken && next < end) ?? this.#half();
    if (!free) return undefined;
    free.taken = true;
    return new Run(this.#parts, free);
  }

  /** Whether a part is left that nobody has begun. */
  get left(): boolean {
    return this.#segments.some(({ next, end }) => next < end);
  }

  /** Cuts the longest run in two; its owner goes on with the first half. A last part is not worth a connection. */
  #half(): Segment | undefined {
    const left = ({ next, end }: Segment) => end - next;
    const longest = this.#segments.toSorted((a, b) => left(b) - left(a))[0];
    if (!longest || left(longest) < 3) return undefined;
    const middle = longest.end - Math.ceil(left(longest) / 2);
    const half = { next: middle, end: longest.end, taken: false };
    longest.end = middle;
    this.#segments.push(half);
    return half;
  }
}

export class Run {
  readonly #parts: readonly Part[];
  readonly #segment: Segment;

  constructor(parts: readonly Part[], segment: Segment) {
    this.#parts = parts;
    this.#segment = segment;
  }

  /** The next part, which is begun with that. */
  begin(): Part | undefined {
    const { next, end } = this.#segment;
    if (next >= end) return undefined;
    this.#segment.next += 1;
    return this.#parts[next];
  }

  /** Where the bytes end that follow each other without a gap from this part on. */
  contiguousEnd(part: Part): number {
    let end = part.to;
    for (let index = this.#segment.next; index < this.#segment.end; index += 1) {
      const following = this.#parts[index];
      if (following?.from !== end) return end;
      end = following.to;
    }
    return end;
  }

  /** The part that was begun last is to be begun again, by whoever takes this run. */
  giveBack(): void {
    this.#segment.next -= 1;
  }

  /** Leaves what is not begun to others. */
  release(): void {
    this.#segment.taken = false;
  }
}
