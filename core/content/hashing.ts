import { crc32 } from 'node:zlib';
import type { ByteSource } from '../files/byte-source.ts';

/** All bytes of a source, from its beginning, and what was read of them. */
export interface Hashing {
  chunks: AsyncGenerator<Uint8Array>;
  /** Reads what `chunks` was not asked for. @returns size and CRC-32 of all */
  finish: () => Promise<{ bytes: number; crc32: number }>;
}

export function hashing(source: ByteSource): Hashing {
  const read = { bytes: 0, crc32: 0 };
  let ended = false;
  async function* chunks() {
    for await (const chunk of source.read(read.bytes, source.size)) {
      read.crc32 = crc32(chunk, read.crc32);
      read.bytes += chunk.length;
      yield chunk;
    }
    ended = true;
  }
  const finish = async () => {
    if (!ended) for await (const _ of chunks());
    return read;
  };
  return { chunks: chunks(), finish };
}
