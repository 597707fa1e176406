import { pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import { type Entry, fromRandomAccessReaderPromise, type ZipFile } from 'yauzl';
import type { ByteSource } from '../files/byte-source.ts';
import type { ReadingBudget } from './reading-limits.ts';
import { ZipBytes } from './zip-bytes.ts';

/** The message says of a file why it cannot be unpacked, without anything of its content. */
export class UnreadableZip extends Error {
  override readonly name = 'UnreadableZip';
}

export interface ZipEntry {
  /** The name with slashes, as the directory has it. */
  name: string;
  /** Bytes of its content, as the directory has it. */
  size: number;
}

export interface ZipArchive {
  /** Files, without folders. */
  entries: ZipEntry[];
  /**
   * The content of an entry; behind its last byte, size and CRC-32 have been compared.
   * @throws UnreadableZip, ReadingUnfinished; what reading the source throws
   */
  read(entry: ZipEntry): AsyncGenerator<Uint8Array>;
  /** Reads what was not read to its end, so that all of the archive is known to be undamaged. @throws as `read` */
  verify(): Promise<void>;
  /** Bytes that belong to no entry, or to several, once all were verified: readers by the directory do not see them. */
  unlisted(): number;
}

/** A workbook with a picture in every row has fewer. */
const MOST_ENTRIES = 10_000;
const INFLATED_BYTES = 64 * 1024;

/**
 * Opens a zip archive by the directory at its end.
 * @throws UnreadableZip where it is cut, damaged or ambiguous; what reading the source throws
 */
export async function openZip(source: ByteSource, budget: ReadingBudget): Promise<ZipArchive> {
  const bytes = new ZipBytes(source);
  const { zip, listed } = await directoryOf(bytes, source.size);
  const directory = await directoryStart(zip, listed, source.size, bytes);
  const extents = new Map<Entry, Extent>();
  const whole = new Set<ZipEntry>();
  const found = new Map<ZipEntry, Entry>(
    listed.map((entry) => [{ name: entry.fileName, size: entry.uncompressedSize }, entry]),
  );
  async function* read(place: ZipEntry): AsyncGenerator<Uint8Array> {
    const entry = found.get(place);
    if (!entry) throw new Error('an entry of another archive');
    if (!entry.canDecodeFileData()) throw new UnreadableZip('has an entry that is encrypted or packed in a rare way');
    const from = await dataStart(zip, entry, bytes);
    const described = (entry.generalPurposeBitFlag & DESCRIBED) !== 0;
    extents.set(entry, { from: entry.relativeOffsetOfLocalHeader, to: from + entry.compressedSize, described });
    yield* contentOf(entry, bytes.range(from, from + entry.compressedSize), budget);
    whole.add(place);
  }
  return {
    entries: [...found.keys()].filter(({ name, size }) => !name.endsWith('/') || size > 0),
    read,
    verify: async () => {
      for (const place of found.keys()) if (!whole.has(place)) for await (const _ of read(place));
    },
    unlisted: () => unlistedBytes([...extents.values()], directory) + zip.comment.length,
  };
}

async function directoryOf(bytes: ZipBytes, size: number): Promise<{ zip: ZipFile; listed: Entry[] }> {
  try {
    const zip = await fromRandomAccessReaderPromise(bytes, size, { autoClose: false });
    const listed: Entry[] = [];
    const names = new Set<string>();
    for await (const entry of zip.eachEntry()) {
      listed.push(entry);
      names.add(entry.fileName.toLowerCase());
      if (listed.length > MOST_ENTRIES) throw new UnreadableZip(`has more than ${MOST_ENTRIES} entries`);
    }
    if (names.size < listed.length) throw new UnreadableZip('has several entries of one name');
    return { zip, listed };
  } catch (error) {
    throw bytes.failure instanceof Error && !(bytes.failure instanceof RangeError)
      ? bytes.failure
      : unreadable(error, 'has no directory of a zip archive that can be read: it is cut or damaged');
  }
}

/** Messages of yauzl may name entries. */
function unreadable(error: unknown, message: string): UnreadableZip {
  return error instanceof UnreadableZip ? error : new UnreadableZip(message);
}

/** Compares the two places where an entry is named: readers of one would see another entry than readers of the other. */
async function dataStart(zip: ZipFile, entry: Entry, bytes: ZipBytes): Promise<number> {
  try {
    const header = await zip.readLocalFileHeaderPromise(entry);
    if (!header.fileName.equals(entry.fileNameRaw)) throw new UnreadableZip('has a directory that names other entries');
    return header.fileDataStart;
  } catch (error) {
    throw bytes.failure instanceof Error && !(bytes.failure instanceof RangeError)
      ? bytes.failure
      : unreadable(error, 'has an entry that is not where its directory says');
  }
}

async function* contentOf(
  { compressionMethod, crc32: expected, compressedSize, uncompressedSize }: Entry,
  packed: AsyncIterable<Uint8Array>,
  budget: ReadingBudget,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  let checksum = 0;
  for await (const chunk of compressionMethod === 0 ? packed : inflated(packed, compressedSize)) {
    budget.read(chunk.length);
    size += chunk.length;
    if (size > uncompressedSize) break;
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (size !== uncompressedSize) throw new UnreadableZip('has an entry of another size than its directory says');
  if (checksum !== expected) throw new UnreadableZip('is damaged: the checksum of an entry is another');
}

async function* inflated(packed: AsyncIterable<Uint8Array>, compressedSize: number): AsyncGenerator<Uint8Array> {
  const inflate = createInflateRaw({ chunkSize: INFLATED_BYTES });
  // The error arrives where the content is read.
  pipeline(packed, inflate, () => undefined);
  try {
    for await (const chunk of inflate) yield chunk;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw code.startsWith('Z_') ? new UnreadableZip('is damaged: an entry cannot be unpacked') : error;
  }
  if (inflate.bytesWritten !== compressedSize) throw new UnreadableZip('has an entry with bytes behind its content');
}

interface Extent {
  from: number;
  to: number;
  /** The sizes of the entry stand again behind its data. */
  described: boolean;
}

/** A bit of an entry (APPNOTE.TXT, 4.4.4), and what stands behind its data then, at most (4.3.9). */
const DESCRIBED = 8;
const DESCRIPTOR_BYTES = 24;
/** What stands behind the directory, and of an archive with large numbers before that (4.3.14 to 4.3.16). */
const END_BYTES = 22;
const LARGE_END_BYTES = 76;
const LOCATOR_BYTES = 20;
const LOCATOR = 'PK\x06\x07';

async function directoryStart(zip: ZipFile, listed: Entry[], size: number, bytes: ZipBytes): Promise<number> {
  const lengths = listed.map((entry) => 46 + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength);
  const end = size - END_BYTES - zip.comment.length;
  const before: Uint8Array[] = [];
  if (end > LOCATOR_BYTES) for await (const chunk of bytes.range(end - LOCATOR_BYTES, end)) before.push(chunk);
  const large = Buffer.concat(before).toString('latin1').startsWith(LOCATOR);
  return end - (large ? LARGE_END_BYTES : 0) - lengths.reduce((sum, length) => sum + length, 0);
}

function unlistedBytes(extents: Extent[], directory: number): number {
  let at = 0;
  let allowed = 0;
  let unlisted = 0;
  const behind = { from: directory, to: directory, described: false };
  for (const { from, to, described } of [...extents.toSorted((one, other) => one.from - other.from), behind]) {
    const room = from - at;
    if (room < 0 || room > allowed) unlisted += Math.abs(room);
    at = Math.max(at, to);
    allowed = described ? DESCRIPTOR_BYTES : 0;
  }
  return unlisted;
}
