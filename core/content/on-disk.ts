import type { ByteSource } from '../files/byte-source.ts';
import { putAside } from '../zip/put-aside.ts';
import { ReadingBudget } from '../zip/reading-limits.ts';
import { limitsOf, type Reading } from './reading.ts';

/**
 * Unpacks what has to be read from several places to a folder of its own, which is gone afterwards.
 * @throws ReadingUnfinished where the disk has no room for it
 */
export async function onDisk<T>(
  chunks: AsyncIterable<Uint8Array>,
  reading: Reading,
  use: (source: ByteSource) => Promise<T>,
): Promise<T> {
  const { source, close } = await putAside(chunks, new ReadingBudget(await limitsOf(reading)));
  try {
    return await use(source);
  } finally {
    await close();
  }
}
