/** The address of the file, requested once for all connections, and again when one of them finds it expired. */
export class Link {
  readonly #request: () => Promise<string>;
  #pending: Promise<string> | undefined;
  #address: string | undefined;

  constructor(request: () => Promise<string>) {
    this.#request = request;
  }

  /** @throws what the request throws, and the reason of the signal when that fires first */
  async current(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    this.#pending ??= this.#load();
    return unlessAborted(this.#pending, signal);
  }

  /** The next caller gets a fresh address, unless this one has been replaced already. */
  expire(address: string): void {
    if (this.#address !== address) return;
    this.#address = undefined;
    this.#pending = undefined;
  }

  async #load(): Promise<string> {
    const address = await this.#request();
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
