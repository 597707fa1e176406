import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ReadingBudget } from './reading-limits.ts';

/** The bytes of a stored file. They can be read from any position, any number of times. */
export interface ByteSource {
  size: number;
  /** Each chunk is valid until the next one is requested. @param to exclusive end */
  read(from: number, to: number): AsyncIterable<Uint8Array>;
}

const READ_BYTES = 256 * 1024;

/**
 * Writes unpacked content to a temporary file, so that it can be read from any position. The file has no name, so the
 * system removes it even if this process is killed.
 * @throws ReadingUnfinished if the content is too large for the disk; any error from the chunks
 */
export async function unpackToDisk(
  chunks: AsyncIterable<Uint8Array>,
  budget: ReadingBudget,
): Promise<{ source: ByteSource; close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'unpacked-'));
  const opened = open(join(folder, 'content'), 'w+');
  const file = await opened.finally(() => rm(folder, { recursive: true, force: true }));
  try {
    for await (const chunk of chunks) {
      budget.store(chunk.length);
      await file.writeFile(chunk);
    }
    return { source: await fileSource(file), close: () => file.close() };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The bytes of an open file. A stream of Node.js would take two to five times as much CPU. */
export async function fileSource(file: FileHandle): Promise<ByteSource> {
  return { size: (await file.stat()).size, read: (from, to) => bytesIn(file, from, to) };
}

async function* bytesIn(file: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, to - from));
  for (let at = from; at < to; ) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, to - at), at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The first two records of a CSV file must end within this number of bytes. */
const START_BYTES = 1024 * 1024;

export interface StoredBytes {
  bytes: number;
  crc32: number;
}

/**
 * Reads all bytes of a source and hashes them. `finish` reads the bytes that the reader of `chunks` did not read.
 * @returns `finish` returns size and CRC-32 of all bytes
 */
export function hashing(source: ByteSource) {
  const read: StoredBytes = { bytes: 0, crc32: 0 };
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

/** The beginning of a stream. */
export interface Start {
  first: Uint8Array;
  /** `first` is the whole stream. */
  complete: boolean;
  /** The whole stream. Its first chunk is `first`. */
  chunks: AsyncGenerator<Uint8Array>;
  /** Closes the stream, also if `chunks` was not read. */
  close: () => Promise<unknown>;
}

export async function startOf(source: AsyncIterable<Uint8Array>): Promise<Start> {
  const rest = source[Symbol.asyncIterator]();
  // A copy of each chunk would take kilobytes for a few bytes: small buffers share memory with others.
  const start = Buffer.allocUnsafeSlow(START_BYTES);
  let bytes = 0;
  let ended = false;
  let after: Uint8Array = new Uint8Array();
  while (!ended && bytes < START_BYTES) {
    const { done = false, value = after } = await rest.next();
    ended = done;
    const part = value.subarray(0, START_BYTES - bytes);
    start.set(part, bytes);
    bytes += part.length;
    after = Buffer.from(value.subarray(part.length));
  }
  const first = start.subarray(0, bytes);
  async function* chunks() {
    yield first;
    yield after;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  return { first, complete: ended, chunks: chunks(), close: async () => rest.return?.() };
}
