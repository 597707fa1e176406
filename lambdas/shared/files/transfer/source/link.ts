/** The address of the file, asked for once however many connections need it, and again when one of them finds it expired. */
export class Link {
  readonly #ask: () => Promise<string>;
  #address: Promise<string> | undefined;

  constructor(ask: () => Promise<string>) {
    this.#ask = ask;
  }

  current(): Promise<string> {
    this.#address ??= this.#ask();
    return this.#address;
  }

  /** The address is of no use any more; one that has been replaced already is not asked for again. */
  async expired(address: string): Promise<void> {
    const asked = this.#address;
    const current = await asked?.catch(() => undefined);
    if (this.#address === asked && (current === address || current === undefined)) this.#address = undefined;
  }
}
