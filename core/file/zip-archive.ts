import { pipeline } from 'node:stream';
import { crc32, createInflateRaw } from 'node:zlib';
import {
  type Entry,
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  type LocalFileHeader,
  parseExtraFields,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl';
import type { ByteSource } from './byte-source.ts';
import type { ReadingBudget } from './reading-limits.ts';
import { UnreadableFile } from './unreadable-file.ts';

export interface ZipEntry {
  /** The name as the directory has it, with slashes. It may be any text: never use it as a path. */
  name: string;
  /** Bytes of its content, as the directory has it. */
  size: number;
}

export interface ZipArchive {
  /** Files, without folders. */
  entries: ZipEntry[];
  /**
   * The content of an entry; behind its last byte, size and CRC-32 have been compared.
   * @throws UnreadableFile, ReadingUnfinished; what reading the source throws
   */
  read(entry: ZipEntry): AsyncGenerator<Uint8Array>;
  /** Reads what was not read to its end, so that all of the archive is known to be undamaged. @throws as `read` */
  verify(): Promise<void>;
  /** Bytes that belong to no entry, or to several, once all were verified: readers by the directory do not see them. */
  unlisted(): number;
  /** Comments and extra fields that may hold text, once all entries were verified. Names are not counted. */
  texts(): number;
}

/** A workbook with a picture in every row has fewer. */
const MOST_ENTRIES = 10_000;
const INFLATED_BYTES = 64 * 1024;

/**
 * Opens a zip archive by the directory at its end.
 * @throws UnreadableFile where it is cut, damaged or ambiguous; what reading the source throws
 */
export async function openZip(source: ByteSource, budget: ReadingBudget): Promise<ZipArchive> {
  const bytes = new ZipBytes(source);
  const { zip, listed } = await directoryOf(bytes, source.size);
  const directory = await directoryStart(zip, listed, source.size, bytes);
  const extents = new Map<Entry, Extent>();
  const whole = new Set<ZipEntry>();
  const found = new Map<ZipEntry, Entry>(
    listed.map((entry) => [{ name: nameOf(entry), size: entry.uncompressedSize }, entry]),
  );
  async function* read(place: ZipEntry): AsyncGenerator<Uint8Array> {
    const entry = found.get(place);
    if (!entry) throw new Error('an entry of another archive');
    if (!entry.canDecodeFileData()) throw new UnreadableFile('has an entry that is encrypted or packed in a rare way');
    const header = await localHeader(zip, entry, bytes);
    const from = header.fileDataStart;
    const to = from + entry.compressedSize;
    const descriptor = isDescribed(entry) ? await descriptorBytes(entry, to, source.size, bytes) : 0;
    const texts = holdsText(header.extraField, entry) ? 1 : 0;
    extents.set(entry, { from: entry.relativeOffsetOfLocalHeader, to: to + descriptor, texts });
    yield* contentOf(entry, bytes.range(from, to), budget);
    whole.add(place);
  }
  return {
    entries: [...found.keys()].filter(({ name, size }) => !name.endsWith('/') || size > 0),
    read,
    verify: async () => {
      for (const place of found.keys()) if (!whole.has(place)) for await (const _ of read(place));
    },
    unlisted: () => unlistedBytes([...extents.values()], directory),
    texts: () => textsOf(zip, listed) + [...extents.values()].reduce((sum, { texts }) => sum + texts, 0),
  };
}

async function directoryOf(bytes: ZipBytes, size: number): Promise<{ zip: ZipFile; listed: Entry[] }> {
  try {
    // yauzl refuses names that are no safe paths, unless it leaves names undecoded.
    const zip = await fromRandomAccessReaderPromise(bytes, size, { autoClose: false, decodeStrings: false });
    const listed: Entry[] = [];
    const names = new Set<string>();
    for await (const entry of zip.eachEntry()) {
      listed.push(entry);
      names.add(nameOf(entry).toLowerCase());
      if (listed.length > MOST_ENTRIES) throw new UnreadableFile(`has more than ${MOST_ENTRIES} entries`);
    }
    if (names.size < listed.length) throw new UnreadableFile('has several entries of one name');
    return { zip, listed };
  } catch (error) {
    throw reasonOf(error, bytes, 'has no directory of a zip archive that can be read: it is cut or damaged');
  }
}

const nameOf = ({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry) =>
  getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false);

/** What reading the source threw, else an error without the message of yauzl, which may quote names. */
function reasonOf(error: unknown, { failure }: ZipBytes, message: string): unknown {
  if (failure instanceof Error && !(failure instanceof RangeError)) return failure;
  return error instanceof UnreadableFile ? error : new UnreadableFile(message);
}

/** Compares the two headers of an entry: readers of one would otherwise see another entry than readers of the other. */
async function localHeader(zip: ZipFile, entry: Entry, bytes: ZipBytes): Promise<LocalFileHeader> {
  try {
    const header = await zip.readLocalFileHeaderPromise(entry);
    if (!header.fileName.equals(entry.fileNameRaw))
      throw new UnreadableFile('has a directory that names other entries');
    if (!isSame(header, entry)) throw new UnreadableFile('has an entry of which its directory says something else');
    return header;
  } catch (error) {
    throw reasonOf(error, bytes, 'has an entry that is not where its directory says');
  }
}

function isSame(header: LocalFileHeader, entry: Entry): boolean {
  const { generalPurposeBitFlag: flags, compressionMethod } = header;
  if (flags !== entry.generalPurposeBitFlag || compressionMethod !== entry.compressionMethod) return false;
  const large = parseExtraFields(header.extraField).find(({ id }) => id === LARGE_SIZES)?.data;
  const sizeOf = (size: number, at: number) =>
    size === 0xffffffff && large && large.length >= at + 8 ? Number(large.readBigUInt64LE(at)) : size;
  const pairs = [
    [header.crc32, entry.crc32],
    [sizeOf(header.uncompressedSize, 0), entry.uncompressedSize],
    [sizeOf(header.compressedSize, header.uncompressedSize === 0xffffffff ? 8 : 0), entry.compressedSize],
  ];
  // A writer that does not know sizes yet writes zeros.
  return pairs.every(([local, listed]) => local === listed || (isDescribed(entry) && local === 0));
}

/** Sizes and CRC-32 of an entry follow its data, in one of four forms (APPNOTE.TXT, 4.3.9). */
async function descriptorBytes(entry: Entry, from: number, size: number, bytes: ZipBytes): Promise<number> {
  const found = await bytes.piece(from, Math.min(size - from, 24));
  const forms = [4, 0].flatMap((signature) => [8, 4].map((width) => descriptorOf(entry, signature, width)));
  const same = forms.find((form) => form.equals(found.subarray(0, form.length)));
  if (!same) throw new UnreadableFile('has an entry of which its directory says something else');
  return same.length;
}

function descriptorOf({ crc32: crc, compressedSize, uncompressedSize }: Entry, signature: number, width: number) {
  const buffer = Buffer.alloc(signature + 4 + 2 * width);
  buffer.write('PK\x07\x08'.slice(0, signature), 'latin1');
  buffer.writeUInt32LE(crc, signature);
  for (const [place, size] of [compressedSize, uncompressedSize].entries()) {
    const at = signature + 4 + place * width;
    buffer.writeUInt32LE(size % 2 ** 32, at);
    if (width === 8) buffer.writeUInt32LE(Math.floor(size / 2 ** 32), at + 4);
  }
  return buffer;
}

async function* contentOf(
  { compressionMethod, crc32: expected, compressedSize, uncompressedSize }: Entry,
  packed: AsyncIterable<Uint8Array>,
  budget: ReadingBudget,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  let checksum = 0;
  // Some writers call an entry without bytes deflated.
  const stored = compressionMethod === 0 || compressedSize === 0;
  for await (const chunk of stored ? packed : inflated(packed, compressedSize)) {
    budget.read(chunk.length);
    size += chunk.length;
    if (size > uncompressedSize) break;
    checksum = crc32(chunk, checksum);
    yield chunk;
  }
  if (size !== uncompressedSize) throw new UnreadableFile('has an entry of another size than its directory says');
  if (checksum !== expected) throw new UnreadableFile('is damaged: the checksum of an entry is another');
}

async function* inflated(packed: AsyncIterable<Uint8Array>, compressedSize: number): AsyncGenerator<Uint8Array> {
  const inflate = createInflateRaw({ chunkSize: INFLATED_BYTES });
  // The error arrives where the content is read.
  pipeline(packed, inflate, () => undefined);
  try {
    for await (const chunk of inflate) yield chunk;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw code.startsWith('Z_') ? new UnreadableFile('is damaged: an entry cannot be unpacked') : error;
  }
  if (inflate.bytesWritten !== compressedSize) throw new UnreadableFile('has an entry with bytes behind its content');
}

interface Extent {
  from: number;
  to: number;
  /** Extra fields of the local header that may hold text. */
  texts: number;
}

/** A bit of an entry (APPNOTE.TXT, 4.4.4). */
const isDescribed = ({ generalPurposeBitFlag }: Entry) => (generalPurposeBitFlag & 8) !== 0;

/** Extra fields without text, and their lengths: sizes, times, owners, and the marks of Java and of Microsoft's packages. */
const LARGE_SIZES = 0x0001;
const WITHOUT_TEXT = new Map<number, (data: Buffer) => boolean>([
  [LARGE_SIZES, ({ length }) => length <= 28],
  [0x5455, ({ length }) => length <= 13],
  // Times of NTFS: their highest byte is that of this century.
  [0x000a, (data) => data.length === 32 && [15, 23, 31].every((at) => (data[at] ?? 0) <= 2)],
  [0x5855, ({ length }) => length <= 12],
  [0x7855, ({ length }) => length <= 4],
  [0x7875, (data) => data.length <= 11],
  [0xcafe, ({ length }) => length === 0],
  [0xa220, (data) => data.subarray(4).every((byte) => byte === 0)],
]);

function holdsText(raw: Buffer, entry: Entry): boolean {
  const fields = parseExtraFields(raw);
  const known = fields.every(({ id, data }) =>
    id === 0x7075 ? data.toString('utf8', 5) === nameOf(entry) : (WITHOUT_TEXT.get(id)?.(data) ?? false),
  );
  return !known || fields.reduce((sum, { data }) => sum + 4 + data.length, 0) < raw.length;
}

function textsOf({ comment }: ZipFile, listed: Entry[]): number {
  const comments = listed.filter(({ fileCommentLength }) => fileCommentLength > 0).length;
  const extras = listed.filter((entry) => holdsText(entry.extraFieldRaw, entry)).length;
  return comments + extras + (comment.length > 0 ? 1 : 0);
}

/** What stands behind the directory, and of an archive with large numbers before that (4.3.14 to 4.3.16). */
const END_BYTES = 22;
const LARGE_END_BYTES = 76;
const LOCATOR_BYTES = 20;
const LOCATOR = 'PK\x06\x07';

async function directoryStart(zip: ZipFile, listed: Entry[], size: number, bytes: ZipBytes): Promise<number> {
  const lengths = listed.map((entry) => 46 + entry.fileNameLength + entry.extraFieldLength + entry.fileCommentLength);
  const end = size - END_BYTES - zip.comment.length;
  const before = end > LOCATOR_BYTES ? await bytes.piece(end - LOCATOR_BYTES, LOCATOR_BYTES) : Buffer.alloc(0);
  const large = Buffer.from(before).toString('latin1').startsWith(LOCATOR);
  return end - (large ? LARGE_END_BYTES : 0) - lengths.reduce((sum, length) => sum + length, 0);
}

function unlistedBytes(extents: Extent[], directory: number): number {
  let at = 0;
  let unlisted = 0;
  const end = { from: directory, to: directory };
  for (const { from, to } of [...extents.toSorted((one, other) => one.from - other.from), end]) {
    unlisted += Math.abs(from - at);
    at = Math.max(at, to);
  }
  return unlisted;
}

/** Each read from the bucket is a request: the directory of most archives, or all of a small one, comes with the first. */
const BLOCK_BYTES = 1024 * 1024;

/** Gives yauzl the small pieces that it asks for, out of larger blocks. */
class ZipBytes extends RandomAccessReader {
  /** What reading the source threw, if it did. */
  failure: unknown;
  /** The newest block stands last. */
  private blocks: { from: number; bytes: Uint8Array }[] = [];
  private readonly source: ByteSource;

  constructor(source: ByteSource) {
    super();
    this.source = source;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    this.piece(position, length).then(
      (bytes) => {
        buffer.set(bytes, offset);
        callback(null);
      },
      (error) => {
        this.failure = error;
        callback(error);
      },
    );
  }

  /** @param to not included */
  async *range(from: number, to: number): AsyncGenerator<Uint8Array> {
    const block = this.blocks.find(({ from: start, bytes }) => start <= from && from < start + bytes.length);
    const known = block?.bytes.subarray(from - block.from, to - block.from);
    if (known) yield known;
    const next = from + (known?.length ?? 0);
    if (next < to) yield* this.source.read(next, to);
  }

  /** @throws RangeError beyond the end; what reading the source throws */
  async piece(position: number, length: number): Promise<Uint8Array> {
    const end = position + length;
    if (position < 0 || end > this.source.size) throw new RangeError('behind the end of the file');
    const known = this.blocks.find(({ from, bytes }) => from <= position && end <= from + bytes.length);
    const block = known ?? (await this.load(position, length));
    return block.bytes.subarray(position - block.from, end - block.from);
  }

  /** A block that reaches to the end of the file begins before the place: the directory is read forwards from there. */
  private async load(position: number, length: number): Promise<{ from: number; bytes: Uint8Array }> {
    const { size } = this.source;
    const to = Math.min(size, position + Math.max(length, BLOCK_BYTES));
    const from = Math.min(position, Math.max(0, to - BLOCK_BYTES));
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.source.read(from, to)) chunks.push(chunk);
    const block = { from, bytes: Buffer.concat(chunks) };
    if (block.bytes.length !== to - from) throw new RangeError('the source has given too few bytes');
    this.blocks = [...this.blocks.slice(-1), block];
    return block;
  }
}
