import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadingBudget } from './reading-limits.ts';

/** The bytes of one stored file, which can be read from any place, any number of times. */
export interface ByteSource {
  size: number;
  /** @param to not included */
  read(from: number, to: number): AsyncIterable<Uint8Array>;
}

const READ_BYTES = 64 * 1024;

/**
 * Writes unpacked content to the temporary folder, to be read from any place; `close` removes it.
 * @throws ReadingUnfinished where it is more than the disk may hold; what the chunks throw
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

/** A file on the disk. @param size its bytes */
export function fileSource(path: string, size: number): ByteSource {
  return {
    size,
    async *read(from, to) {
      if (to > from) yield* createReadStream(path, { start: from, end: to - 1, highWaterMark: READ_BYTES });
    },
  };
}
