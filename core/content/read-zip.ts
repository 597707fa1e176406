import { crc32 } from 'node:zlib';
import type { Entry } from 'yauzl';
import type { ByteSource } from '../files/byte-source.ts';
import { countText } from '../gate/texts.ts';
import { onDisk } from './on-disk.ts';
import { readSheet } from './read-sheet.ts';
import { type Begun, begin, type Content, readStream, unjudged } from './read-stream.ts';
import { bounded, damaged, isRefusal, type Reading, refused } from './reading.ts';
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
  const chunks = bounded(verified(contentOf(directory, entry), entry, reading), reading);
  const begun = await begin(chunks, inside, PACKED).catch((error: unknown) => {
    if (opaque.includes('archive') && isRefusal(error)) return null;
    throw error;
  });
  if (!begun) return { content: archive(reading), packed: false };
  const content = await readBegun(begun, inside, PACKED);
  return { content: withOthers(content, passedOver, besides), packed: true };
}

/** To its end, what is packed in gzip or a zip archive: a spreadsheet has to be unpacked to the disk. */
export function readBegun({ judged, chunks }: Begun, reading: Reading, packed: string): Promise<Content> {
  if (judged.result !== 'zip') return readStream({ judged, chunks }, reading);
  return onDisk(chunks, reading, async (source) => {
    try {
      const kind = zipKind(await zipDirectory(source));
      if (kind.kind === 'xlsx') return await readSheet(source, reading);
      if (kind.kind === 'other') throw refused(reading, `${kind.looks}${packed}`);
    } catch (error) {
      throw error instanceof ZipFault ? refused(reading, `a zip archive ${error.message}${packed}`) : error;
    }
    if (reading.expected.opaque.includes('archive')) return unjudged('archive', reading);
    throw refused(reading, `a zip archive${packed}`);
  });
}

/** yauzl compares the number of bytes, not their CRC-32. */
async function* verified(
  chunks: AsyncIterable<Uint8Array>,
  entry: Entry,
  reading: Reading,
): AsyncGenerator<Uint8Array> {
  let found = 0;
  for await (const chunk of chunks) {
    found = crc32(chunk, found);
    yield chunk;
  }
  if (found !== entry.crc32) throw damaged(reading, 'is a zip archive that is damaged');
}

function withOthers({ content, remarks, ...others }: Content, passedOver: number, besides: number): Content {
  if (passedOver === 0) return { content, remarks, ...others };
  const remark = `The archive has ${countText(passedOver, 'other entry', 'other entries')} beside the file (folders, notes of an operating system), which ${passedOver === 1 ? 'was' : 'were'} passed over.`;
  return {
    ...others,
    content: content && { ...content, elsewhere: content.elsewhere + besides },
    remarks: [...remarks, remark],
  };
}
