import { isUtf8 } from 'node:buffer';
import { posix } from 'node:path';
import { crc32 } from 'node:zlib';
import {
  type Entry,
  fromRandomAccessReaderPromise,
  getFileNameLowLevel,
  type LocalFileHeader,
  parseExtraFields,
  RandomAccessReader,
  type ZipFile,
} from 'yauzl';
import { isAllowedName } from '../spreadsheet/allowed-text.ts';
import type { ByteSource } from './byte-source.ts';
import { inflated, Pieces } from './gunzip.ts';
import type { ReadingBudget } from './reading-limits.ts';
import { UnreadableFile } from './unreadable-file.ts';

export interface ZipEntry {
  /** The name in the directory, as `partName` returns it. It may be any text: never use it as a path. */
  name: string;
  /** Size of the content in bytes, by the directory. */
  size: number;
  /** The entry of the directory. */
  listed: Entry;
}

export interface ZipArchive {
  /** Files, without folders. */
  entries: ZipEntry[];
  /**
   * The content of an entry. After its last byte, size and CRC-32 have been verified.
   * @throws UnreadableFile, ReadingUnfinished; any error from reading the source
   */
  read(entry: ZipEntry): AsyncGenerator<Uint8Array>;
  /** Reads all entries that were not read completely, to prove the archive undamaged. @throws the errors of `read` */
  verify(): Promise<void>;
  /** Whether bytes belong to no entry, or to several, after `verify`. Readers of the directory do not see them. */
  hasUnlisted(): boolean;
  /** Whether a comment, an extra field, or the name of a folder or empty file may hold text, after `verify`. */
  hasTexts(): boolean;
}

/** More than the entries of a workbook with a picture in every row. */
const MOST_ENTRIES = 10_000;

/**
 * Opens a zip archive by the directory at its end.
 * @throws UnreadableFile if the archive is cut off, damaged or ambiguous; any error from reading the source
 */
export async function openZip(source: ByteSource, budget: ReadingBudget): Promise<ZipArchive> {
  const bytes = new ZipBytes(source);
  const { zip, listed } = await directoryOf(bytes, source.size);
  const directory = await directoryStart(zip, listed, source.size, bytes);
  const entries = listed.map((entry) => ({ name: nameOf(entry), size: entry.uncompressedSize, listed: entry }));
  /** The extents of all entries that were read completely. */
  const extents = new Map<Entry, Extent>();
  async function* read({ listed: entry }: ZipEntry): AsyncGenerator<Uint8Array> {
    if (!entry.canDecodeFileData())
      throw new UnreadableFile('has an entry that is encrypted, or packed by an unsupported method');
    const header = await localHeader(zip, entry, bytes);
    const from = header.fileDataStart;
    const to = from + entry.compressedSize;
    const descriptor = isDescribed(entry) ? await descriptorBytes(entry, to, source.size, bytes) : 0;
    yield* contentOf(entry, bytes.range(from, to), budget);
    const hasText = holdsText(header.extraField, entry);
    extents.set(entry, { from: entry.relativeOffsetOfLocalHeader, to: to + descriptor, hasText });
  }
  return {
    entries: entries.filter(({ name, size }) => !/(?:^|\/)$/.test(name) || size > 0),
    read,
    verify: async () => {
      for (const entry of entries) if (!extents.has(entry.listed)) for await (const _ of read(entry));
    },
    hasUnlisted: () => !areAdjacent([...extents.values()], directory),
    hasTexts: () => hasTexts(zip, listed) || [...extents.values()].some(({ hasText }) => hasText),
  };
}

async function directoryOf(bytes: ZipBytes, size: number): Promise<{ zip: ZipFile; listed: Entry[] }> {
  try {
    // By default, yauzl decodes names, and refuses those that are unsafe as paths.
    const zip = await fromRandomAccessReaderPromise(bytes, size, { autoClose: false, decodeStrings: false });
    const listed: Entry[] = [];
    const names = new Set<string>();
    for await (const entry of zip.eachEntry()) {
      listed.push(entry);
      names.add(nameOf(entry).toLowerCase());
      if (listed.length > MOST_ENTRIES) throw new UnreadableFile(`has more than ${MOST_ENTRIES} entries`);
    }
    if (names.size < listed.length) throw new UnreadableFile('has several entries with the same name');
    return { zip, listed };
  } catch (error) {
    throw reasonOf(error, bytes, 'has no readable zip directory: it is cut off or damaged');
  }
}

/** The name that an extra field gives, if there is one. Some writers do not mark UTF-8 by its flag. */
const nameOf = ({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry) =>
  partName(
    getFileNameLowLevel(isUtf8(fileNameRaw) ? UTF8_FLAG : generalPurposeBitFlag, fileNameRaw, extraFields, false),
  );

/** Normalises a name: some writers use a leading slash, or backslashes. */
export const partName = (name: string) => posix.normalize(`/${name.replaceAll('\\', '/')}`).replace(/^\/+/, '');

/** The flag for a name in UTF-8 (APPNOTE.TXT, 4.4.4). */
const UTF8_FLAG = 0x800;

/** The error from the source, or else an error with `message`: the message of yauzl may quote names. */
function reasonOf(error: unknown, { failure }: ZipBytes, message: string): unknown {
  if (failure instanceof Error && !(failure instanceof RangeError)) return failure;
  return error instanceof UnreadableFile ? error : new UnreadableFile(message);
}

/** Checks that the two headers of an entry agree, because some programs read only one of them. */
async function localHeader(zip: ZipFile, entry: Entry, bytes: ZipBytes): Promise<LocalFileHeader> {
  try {
    const header = await zip.readLocalFileHeaderPromise(entry);
    if (!header.fileName.equals(entry.fileNameRaw))
      throw new UnreadableFile('has an entry with another name than in its directory');
    if (!isSame(header, entry)) throw new UnreadableFile('has an entry that its directory describes differently');
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
  // A writer that does not know the sizes in advance writes zeros.
  return pairs.every(([local, listed]) => local === listed || (isDescribed(entry) && local === 0));
}

/** Length of the descriptor after an entry, which repeats sizes and CRC-32 in one of 4 forms (APPNOTE.TXT, 4.3.9). */
async function descriptorBytes(entry: Entry, from: number, size: number, bytes: ZipBytes): Promise<number> {
  const found = await bytes.piece(from, Math.min(size - from, 24));
  const forms = [4, 0].flatMap((signature) => [8, 4].map((width) => descriptorOf(entry, signature, width)));
  const same = forms.find((form) => form.equals(found.subarray(0, form.length)));
  if (!same) throw new UnreadableFile('has an entry that its directory describes differently');
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
  // Some writers mark an empty entry as deflated.
  const stored = compressionMethod === 0 || compressedSize === 0;
  const input = new Pieces(packed);
  try {
    for await (const chunk of stored ? packed : inflated(input, () => 'is damaged: an entry cannot be unpacked')) {
      budget.read(chunk.length);
      size += chunk.length;
      if (size > uncompressedSize) break;
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
    if (size !== uncompressedSize) throw new UnreadableFile('has an entry of another size than its directory says');
    if (checksum !== expected)
      throw new UnreadableFile('is damaged: an entry has another checksum than its directory says');
    if (!stored && (await input.next())) throw new UnreadableFile('has an entry with bytes after its content');
  } finally {
    await input.close();
  }
}

interface Extent {
  from: number;
  to: number;
  /** An extra field of the local header may hold text. */
  hasText: boolean;
}

/** The flag for a descriptor after the data (APPNOTE.TXT, 4.4.4). */
const isDescribed = ({ generalPurposeBitFlag }: Entry) => (generalPurposeBitFlag & 8) !== 0;

/** Extra fields that hold no text if their data has this form: sizes, times, owners, marks of Java and Microsoft. */
const LARGE_SIZES = 0x0001;
const WITHOUT_TEXT = new Map<number, (data: Buffer) => boolean>([
  [LARGE_SIZES, ({ length }) => length <= 28],
  [0x5455, ({ length }) => length <= 13],
  // NTFS times, up to the year 2285.
  [0x000a, (data) => data.length === 32 && [15, 23, 31].every((at) => (data[at] ?? 0) <= 2)],
  [0x7875, (data) => data.length <= 11],
  [0xcafe, ({ length }) => length === 0],
  [0xa220, (data) => data.subarray(4).every((byte) => byte === 0)],
]);

function holdsText(raw: Buffer, entry: Entry): boolean {
  const fields = parseExtraFields(raw);
  const isUsual = fields.every(({ id, data }) =>
    id === 0x7075 ? isOfName(data.toString('utf8', 5), entry) : (WITHOUT_TEXT.get(id)?.(data) ?? false),
  );
  return !isUsual || fields.reduce((sum, { data }) => sum + 4 + data.length, 0) < raw.length;
}

const isOfName = (name: string, entry: Entry) =>
  partName(name) === nameOf(entry) && isAllowedName(entry.fileNameRaw.toString());

function hasTexts({ comment }: ZipFile, listed: Entry[]): boolean {
  // Names of files with content are judged together with their content.
  const isNamed = (entry: Entry) => entry.uncompressedSize === 0 && !isAllowedName(nameOf(entry));
  const has = (entry: Entry) => entry.fileCommentLength > 0 || isNamed(entry) || holdsText(entry.extraFieldRaw, entry);
  return comment.length > 0 || listed.some(has);
}

/** Sizes of the records after the directory. An archive with large numbers has two more of them (4.3.14 to 4.3.16). */
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

/** Whether the entries and the directory follow each other from the start of the file, without gaps or overlaps. */
function areAdjacent(extents: Extent[], directory: number): boolean {
  const sorted = extents.toSorted((one, other) => one.from - other.from);
  const ends = [0, ...sorted.map(({ to }) => to)];
  return ends.every((end, place) => end === (sorted[place]?.from ?? directory));
}

/** Each read from the bucket is one request. The first block contains the directory, or all of a small archive. */
const BLOCK_BYTES = 1024 * 1024;

/** Serves the small reads of yauzl from larger blocks. */
class ZipBytes extends RandomAccessReader {
  /** The error from reading the source, if it failed. */
  failure: unknown;
  /** The blocks that were read, the newest at the end. */
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

  /** @param to exclusive end */
  async *range(from: number, to: number): AsyncGenerator<Uint8Array> {
    const block = this.blocks.find(({ from: start, bytes }) => start <= from && from < start + bytes.length);
    const inBlock = block?.bytes.subarray(from - block.from, to - block.from);
    if (inBlock) yield inBlock;
    const next = from + (inBlock?.length ?? 0);
    if (next < to) yield* this.source.read(next, to);
  }

  /** @throws RangeError beyond the end of the file; any error from reading the source */
  async piece(position: number, length: number): Promise<Uint8Array> {
    const end = position + length;
    if (position < 0 || end > this.source.size) throw new RangeError('after the end of the file');
    const loaded = this.blocks.find(({ from, bytes }) => from <= position && end <= from + bytes.length);
    const block = loaded ?? (await this.load(position, length));
    return block.bytes.subarray(position - block.from, end - block.from);
  }

  /** Loads a block. At the end of the file it starts before the position: the directory is read forwards from there. */
  private async load(position: number, length: number): Promise<{ from: number; bytes: Uint8Array }> {
    const { size } = this.source;
    const to = Math.min(size, position + Math.max(length, BLOCK_BYTES));
    const from = Math.min(position, Math.max(0, to - BLOCK_BYTES));
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.source.read(from, to)) chunks.push(Buffer.from(chunk));
    const block = { from, bytes: Buffer.concat(chunks) };
    if (block.bytes.length !== to - from) throw new RangeError('the source returned too few bytes');
    this.blocks = [...this.blocks.slice(-1), block];
    return block;
  }
}
