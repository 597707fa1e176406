/** The address of the file, asked for once however many connections need it, and again when one of them finds it expired. */
export class Link {
  readonly #ask: () => Promise<string>;
  #asked: Promise<string> | undefined;
  /** What was answered; `undefined` while nothing is. */
  #address: string | undefined;

  constructor(ask: () => Promise<string>) {
    this.#ask = ask;
  }

  /** Waits for the address until the signal fires. @throws what asking throws, and the reason of the signal */
  async current(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    this.#asked ??= this.#askAnew();
    return unlessAborted(this.#asked, signal);
  }

  /** The address is of no use any more; one that has been replaced already is not asked for again. */
  expired(address: string): void {
    if (this.#address !== address) return;
    this.#address = undefined;
    this.#asked = undefined;
  }

  async #askAnew(): Promise<string> {
    const address = await this.#ask();
    this.#address = address;
    return address;
  }
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
