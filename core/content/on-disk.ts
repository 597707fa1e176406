import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ByteSource } from '../files/byte-source.ts';
import { limitsOf, type Reading, unfinished } from './reading.ts';

/**
 * Unpacks what has to be read from several places to a folder of its own, which is gone afterwards.
 * @throws RunError `CheckUnfinished` where the disk has no room for it
 */
export async function onDisk<T>(
  chunks: AsyncIterable<Uint8Array>,
  reading: Reading,
  use: (source: ByteSource) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'content-'));
  try {
    const file = join(folder, 'content');
    await write(file, chunks, reading);
    return await use(await fileSource(file));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function write(file: string, chunks: AsyncIterable<Uint8Array>, reading: Reading): Promise<void> {
  const { diskBytes: room } = await limitsOf(reading);
  const handle = await open(file, 'w');
  try {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > room) {
        const megabytes = Math.floor(room / 1e6);
        throw unfinished(reading, `a packed spreadsheet is unpacked to the disk, which has room for ${megabytes} MB`);
      }
      await handle.appendFile(chunk);
    }
  } finally {
    await handle.close();
  }
}

/** A file on the disk. */
export async function fileSource(file: string): Promise<ByteSource> {
  const { size } = await stat(file);
  return { size, read: (from, to) => (to > from ? createReadStream(file, { start: from, end: to - 1 }) : nothing()) };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
