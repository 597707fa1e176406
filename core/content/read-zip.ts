import type { Entry } from 'yauzl';
import type { ByteSource } from '../files/byte-source.ts';
import { onDisk } from './on-disk.ts';
import { bounded, damaged, type Reading, refused } from './reading.ts';
import { begin, type Content, readStream, unjudged } from './read-stream.ts';
import { readSheet } from './read-sheet.ts';
import { contentOf, type ZipDirectory, ZipFault, zipDirectory } from './zip-directory.ts';
import { refuseLies, type ZipKind, zipKind } from './zip-kind.ts';

/** What a zip archive holds. */
export interface ZipContent {
  content: Content;
  /** It is the content of the only file in it. */
  packed: boolean;
}

const PACKED = ', packed in a zip archive';

/**
 * Reads a spreadsheet, or a zip archive with exactly one CSV file or spreadsheet in it; any other is published unjudged where the
 * configuration says so.
 * @throws RunError `FileRejected` for what is none of these, damaged, encrypted or has a directory that lies
 */
export async function readZip(source: ByteSource, reading: Reading): Promise<ZipContent> {
  try {
    const directory = await zipDirectory(source);
    const kind = zipKind(directory);
    if (kind.kind === 'other') throw refused(reading, kind.looks);
    if (kind.kind === 'archive') return { content: archive(reading), packed: false };
    if (kind.kind === 'xlsx') return { content: await readSheet(source, reading), packed: false };
    await refuseLies(directory);
    return await readOnly(directory, kind, reading);
  } catch (error) {
    throw error instanceof ZipFault ? refused(reading, `a zip archive ${error.message}`) : error;
  }
}

/** An archive of several files. */
function archive(reading: Reading): Content {
  if (reading.expected.opaque.includes('archive')) return unjudged('archive', reading);
  throw refused(reading, 'a zip archive of several files');
}

/** The only file of an archive. */
async function readOnly(
  directory: ZipDirectory,
  { entry, passedOver, besides }: Extract<ZipKind, { kind: 'one' }>,
  reading: Reading,
): Promise<ZipContent> {
  const { opaque } = reading.expected;
  // What it holds is judged as an archive, where it is neither CSV nor a spreadsheet.
  const inside = { ...reading, expected: { ...reading.expected, opaque: [] } };
  const begun = await begin(bounded(contentOf(directory, entry), reading), inside, PACKED).catch((error: unknown) => {
    if (isRefusal(error) && opaque.includes('archive')) return null;
    throw error;
  });
  if (!begun) return { content: archive(reading), packed: false };
  const { judged, chunks } = begun;
  const content =
    judged.result === 'zip'
      ? await onDisk(verified(chunks, entry, reading), reading, (file) => readInner(file, reading))
      : await readStream({ judged, chunks: verified(chunks, entry, reading) }, reading);
  return { content: withOthers(content, passedOver, besides), packed: true };
}
