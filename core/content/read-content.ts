import type { ByteSource } from '../files/byte-source.ts';
import { isGzip } from '../files/file-kind.ts';
import { gunzipped } from './gunzip.ts';
import { hashing } from './hashing.ts';
import { begin, type Content, GZIPPED, readStream, startOf } from './read-stream.ts';
import { readBegun, readZip } from './read-zip.ts';
import { bounded, damaged, isRefusal, type Known, type Reading } from './reading.ts';

/** What was read of the stored bytes. */
export interface StoredBytes {
  bytes: number;
  crc32: number;
}

/**
 * Reads a stored file to its end, from its beginning: a CSV file or spreadsheet, plain, compressed with gzip, or alone in a zip
 * archive. What is published unjudged is read to its end, too, where it is packed.
 * @param prove takes size and CRC-32 of all stored bytes before the file is accepted or refused, and may throw
 * @throws RunError `FileRejected` for what is none of these, damaged or cut off; `CheckUnfinished` when time, or room on the disk,
 * is not enough; `DownloadTooLarge` when there is more content than files may have; what reading the bytes throws
 */
export async function readContent(
  source: ByteSource,
  reading: Reading,
  prove: (stored: StoredBytes) => void = () => undefined,
): Promise<Known> {
  const { chunks, finish } = hashing(source);
  try {
    const known = await readHashed(source, chunks, reading, async () => prove(await finish()));
    prove(await finish());
    return known;
  } catch (error) {
    // Damage of the stored object is not the CRM's.
    if (isRefusal(error)) prove(await finish());
    throw error;
  }
}

async function readHashed(
  source: ByteSource,
  stored: AsyncGenerator<Uint8Array>,
  reading: Reading,
  proven: () => Promise<void>,
): Promise<Known> {
  const { start, chunks, begun } = await startOf(stored, reading);
  if (isGzip(start)) {
    const unpacked = bounded(
      gunzipped(chunks, (how) => damaged(reading, how)),
      reading,
    );
    return known(source.size, 'gzip', await readBegun(await begin(unpacked, reading, GZIPPED), reading, GZIPPED));
  }
  const judged = await begun();
  if (judged.result !== 'zip')
    return known(source.size, null, await readStream({ judged, chunks: bounded(chunks, reading) }, reading));
  await proven();
  const { content, packed } = await readZip(source, reading);
  return known(source.size, packed ? 'zip' : null, content);
}

/** The content of a stored file becomes what is known of the file. */
function known(bytes: number, compression: string | null, { remarks, ...content }: Content): Known {
  return { facts: { bytes, compression, ...content }, remarks };
}
