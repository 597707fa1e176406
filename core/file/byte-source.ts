import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadingBudget } from './reading-limits.ts';

/** The bytes of a stored file. They can be read from any position, any number of times. */
export interface ByteSource {
  size: number;
  /** @param to exclusive end */
  read(from: number, to: number): AsyncIterable<Uint8Array>;
}

const READ_BYTES = 64 * 1024;

/**
 * Writes unpacked content to the temporary folder, so that it can be read from any position. `close` removes it.
 * @throws ReadingUnfinished if the content is too large for the disk; any error from the chunks
 */
export async function putAside(
  chunks: AsyncIterable<Uint8Array>,
  budget: ReadingBudget,
): Promise<{ source: ByteSource; close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'unpacked-'));
  const path = join(folder, 'content');
  const close = () => rm(folder, { recursive: true, force: true });
  let size = 0;
  async function* counted() {
    for await (const chunk of chunks) {
      budget.store(chunk.length);
      size += chunk.length;
      yield chunk;
    }
  }
  try {
    await writeFile(path, counted());
    return { source: fileSource(path, size), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A file on the disk. @param size in bytes */
export function fileSource(path: string, size: number): ByteSource {
  return {
    size,
    async *read(from, to) {
      if (to > from) yield* createReadStream(path, { start: from, end: to - 1, highWaterMark: READ_BYTES });
    },
  };
}
