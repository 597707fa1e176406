import { ByteWriter } from 'hyparquet-writer';

/** Takes the next bytes of a file; they stay as they are. */
export type Sink = (bytes: Uint8Array) => Promise<void>;

/** Hands each row group to the sink, so that none but the current one is in memory. */
export class SinkWriter extends ByteWriter {
  readonly #sink: Sink;

  constructor(sink: Sink) {
    super();
    this.#sink = sink;
  }

  async flush(): Promise<void> {
    const bytes = this.getBytes().slice();
    this.index = 0;
    if (bytes.length > 0) await this.#sink(bytes);
  }

  override finish(): Promise<void> {
    return this.flush();
  }
}
