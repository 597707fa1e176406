/** The sandbox's own time: moving it forward lets tokens, codes, URLs and jobs age without waiting. */
export class Clock {
  #offset = 0;

  /** Milliseconds since the epoch. */
  now(): number {
    return Date.now() + this.#offset;
  }

  advance(seconds: number): void {
    this.#offset += seconds * 1000;
  }
}
