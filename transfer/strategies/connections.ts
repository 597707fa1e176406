import type { TransferOptions } from '../base/types.ts';

/** The network of a function at every memory size: about 600 Mbit/s. */
const LAMBDA_BYTES_PER_SECOND = 70 * 1024 * 1024;
/** How many connections are added at once. */
const STEP = 2;
/** An addition was useful if the total rate rose by this factor, and harmful if it fell by it. */
const WORTH = 1.1;

/** How many connections are useful: more while the total rate rises. An addition that lowered it is undone; overload halves them. */
export class Connections {
  #most: number;
  readonly #enough: number;
  #rate = 0;
  #lastAdded = 0;
  wanted: number;

  constructor({ initial, most, enoughBytesPerSecond = LAMBDA_BYTES_PER_SECOND }: TransferOptions['connections']) {
    this.#most = most;
    this.#enough = enoughBytesPerSecond;
    this.wanted = Math.min(initial, most);
  }

  /** @param bytesPerSecond the total rate since the last measurement */
  measured(bytesPerSecond: number): void {
    // Silence at the beginning is no rise, nor can the first bytes after it be a fall.
    const useful = bytesPerSecond > 0 && bytesPerSecond >= this.#rate * WORTH;
    const harmful = this.#lastAdded > 0 && bytesPerSecond * WORTH <= this.#rate;
    this.#rate = bytesPerSecond;
    if (harmful) this.#limitTo(this.wanted - this.#lastAdded);
    this.#lastAdded = useful && bytesPerSecond < this.#enough ? Math.min(STEP, this.#most - this.wanted) : 0;
    this.wanted += this.#lastAdded;
  }

  /** The origin answered 429 or 503. */
  overloaded(): void {
    this.#limitTo(Math.max(1, Math.floor(this.wanted / 2)));
  }

  /** Sets the limit for the rest of the transfer: what was too much stays too much. */
  #limitTo(connections: number): void {
    this.wanted = connections;
    this.#most = connections;
    this.#lastAdded = 0;
  }
}
