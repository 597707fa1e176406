import { LAMBDA_BYTES_PER_SECOND } from '../base/limits.ts';
import type { TransferOptions } from '../base/types.ts';

const STEP = 2;
/** An addition was worth it if the total rate rose by this much, and did harm if it fell by as much. */
const WORTH = 1.1;

/**
 * How many connections to the origin are worth having: more while more brings more, up to what the network of a function
 * gives; as many as before when more brought less, and half as many when the origin complains.
 */
export class Connections {
  #most: number;
  readonly #enough: number;
  #rate = 0;
  /** How many were added at the last measurement. */
  #added = 0;
  wanted: number;

  constructor({ initial, most, enoughBytesPerSecond = LAMBDA_BYTES_PER_SECOND }: TransferOptions['connections']) {
    this.#most = most;
    this.#enough = enoughBytesPerSecond;
    this.wanted = Math.min(initial, most);
  }

  /** Takes in the total rate since the last call. */
  measured(bytesPerSecond: number): void {
    // Silence at the beginning is no rise, nor can the first bytes after it be a fall.
    const worth = bytesPerSecond > 0 && bytesPerSecond >= this.#rate * WORTH;
    const harm = this.#added > 0 && bytesPerSecond * WORTH <= this.#rate;
    this.#rate = bytesPerSecond;
    if (harm) this.#stayAt(this.wanted - this.#added);
    const more = worth && bytesPerSecond < this.#enough ? Math.min(STEP, this.#most - this.wanted) : 0;
    this.#added = more;
    this.wanted += more;
  }

  /** The origin answered 429 or 503. */
  refused(): void {
    this.#stayAt(Math.max(1, Math.floor(this.wanted / 2)));
  }

  /** No more is tried: what was too much stays too much. */
  #stayAt(connections: number): void {
    this.wanted = connections;
    this.#most = connections;
    this.#added = 0;
  }
}
