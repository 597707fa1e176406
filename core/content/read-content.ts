import type { ByteSource } from '../files/byte-source.ts';
import { isGzip } from '../files/file-kind.ts';
import { judgeFile } from '../files/judge-file.ts';
import { gunzipped } from './gunzip.ts';
import { accepted, begin, type Content, GZIPPED, readStream, START_BYTES } from './read-stream.ts';
import { readBegun, readZip } from './read-zip.ts';
import { bounded, type Known, type Reading } from './reading.ts';

/**
 * Reads a stored file to its end, from its beginning: a CSV file or spreadsheet, plain, compressed with gzip, or alone in a zip
 * archive. What is published unjudged is read to its end, too, where it is packed.
 * @throws RunError `FileRejected` for what is none of these, damaged or cut off; `CheckUnfinished` when time, or room on the disk,
 * is not enough; `DownloadTooLarge` when there is more content than files may have; what reading the bytes throws
 */
export async function readContent(source: ByteSource, reading: Reading): Promise<Known> {
  const start = await startOf(source);
  const all = () => source.read(0, source.size);
  if (isGzip(start)) return known(source.size, 'gzip', await readGzip(all(), reading));
  const judged = accepted(judgeFile(start, start.length === source.size, reading.expected), reading);
  if (judged.result === 'zip') return readArchive(source, reading);
  return known(source.size, null, await readStream({ judged, chunks: bounded(all(), reading) }, reading));
}

/** @param stored all bytes of the file */
export async function readGzip(stored: AsyncIterable<Uint8Array>, reading: Reading): Promise<Content> {
  const begun = await begin(bounded(gunzipped(stored, reading), reading), reading, GZIPPED);
  return readBegun(begun, reading, GZIPPED);
}

/** A file that begins like a zip archive. */
export async function readArchive(source: ByteSource, reading: Reading): Promise<Known> {
  const { content, packed } = await readZip(source, reading);
  return known(source.size, packed ? 'zip' : null, content);
}

/** The content of a stored file becomes what is known of the file. */
export function known(bytes: number, compression: string | null, { remarks, ...content }: Content): Known {
  return { facts: { bytes, compression, ...content }, remarks };
}

/** S3 refuses to read a part of an empty object. */
async function startOf({ size, read }: ByteSource): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  if (size > 0) for await (const chunk of read(0, Math.min(size, START_BYTES))) chunks.push(chunk);
  return Buffer.concat(chunks);
}
