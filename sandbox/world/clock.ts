/** The sandbox's own time, so that a test can let tokens, URLs and jobs age without waiting. */
export class Clock {
  #offset = 0;

  /** Milliseconds since the epoch. */
  now(): number {
    return Date.now() + this.#offset;
  }

  /** Moves the sandbox's time forward. */
  advance(seconds: number): void {
    this.#offset += seconds * 1000;
  }
}
