import { createHash } from 'node:crypto';

/** The bytes of one file, readable from any offset without holding the file. */
export interface FileContent {
  size: number;
  /** A strong ETag, with its quotes. */
  etag: string;
  /** Yields the bytes from `from` up to, not including, `to`. */
  read: (from: number, to: number) => Generator<Buffer>;
}

/** Small enough for back-pressure to show, large enough not to slow 2 GB down. */
const CHUNK_BYTES = 256 * 1024;

/** An ETag, quotes included, for exactly these parts. */
export function strongEtag(...parts: (string | Uint8Array)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return `"${hash.digest('hex').slice(0, 32)}"`;
}

/** A file in memory. */
export function bufferContent(data: string | Uint8Array): FileContent {
  const bytes = Buffer.from(data);
  function* read(from: number, to: number): Generator<Buffer> {
    for (let at = from; at < to; at += CHUNK_BYTES) yield bytes.subarray(at, Math.min(at + CHUNK_BYTES, to));
  }
  return { size: bytes.length, etag: strongEtag(bytes), read };
}
