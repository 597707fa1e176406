/** The bytes of one stored file, which can be read from any place, any number of times. */
export interface ByteSource {
  size: number;
  /** @param to not included */
  read(from: number, to: number): AsyncIterable<Uint8Array>;
}
