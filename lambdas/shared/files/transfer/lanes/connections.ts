import { LAMBDA_BYTES_PER_SECOND } from '../limits.ts';
import type { TransferOptions } from '../types.ts';

const STEP = 2;
/** An addition was worth it if the total rate rose by this much. */
const WORTH = 1.1;

/**
 * How many connections to the origin are worth having: more while more brings more, up to what the network of a function
 * gives; half as many when the origin complains.
 */
export class Connections {
  #most: number;
  readonly #enough: number;
  #rate = 0;
  wanted: number;

  constructor({ initial, most, enoughBytesPerSecond = LAMBDA_BYTES_PER_SECOND }: TransferOptions['connections']) {
    this.#most = most;
    this.#enough = enoughBytesPerSecond;
    this.wanted = Math.min(initial, most);
  }

  /** Takes in the total rate since the last call. */
  measured(bytesPerSecond: number): void {
    const worth = bytesPerSecond >= this.#rate * WORTH;
    this.#rate = bytesPerSecond;
    if (worth && bytesPerSecond < this.#enough) this.wanted = Math.min(this.wanted + STEP, this.#most);
  }

  /** The origin answered 429 or 503. */
  refused(): void {
    this.wanted = Math.max(1, Math.floor(this.wanted / 2));
    // No more is tried: what was too much stays too much.
    this.#most = this.wanted;
  }
}
