import { crc32 } from 'node:zlib';
import { RunError } from '../errors.ts';
import type { Facts } from '../gate/facts.ts';
import { countText } from '../gate/report.ts';
import { isKnownName } from '../spreadsheet/allowed-text.ts';
import { sheetFacts } from '../spreadsheet/sheet-facts.ts';
import { type ByteSource, putAside } from './byte-source.ts';
import { doubtfulEnd, readCsv } from './csv.ts';
import { isGzip, type Judgement, judgeFile, type Reading, rejection, type ZipKind, zipKind } from './file-kind.ts';
import { gunzipped } from './gunzip.ts';
import { freeDisk, ReadingBudget, type ReadingLimits, ReadingUnfinished } from './reading-limits.ts';
import { UnreadableFile } from './unreadable-file.ts';
import { openZip, type ZipArchive } from './zip-archive.ts';

/** What is known of a stored file, and what a reader of it should know, in sentences. */
export interface Known {
  facts: Facts;
  remarks: string[];
}

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
    const proven = async () => prove(await finish());
    const known = await withinLimits(reading, () => readHashed(source, chunks, reading, proven));
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

/**
 * All bytes of a source, from its beginning; `finish` reads what `chunks` was not asked for.
 * @returns of `finish`: size and CRC-32 of all
 */
function hashing(source: ByteSource) {
  const read = { bytes: 0, crc32: 0 };
  let ended = false;
  async function* chunks() {
    for await (const chunk of source.read(read.bytes, source.size)) {
      read.crc32 = crc32(chunk, read.crc32);
      read.bytes += chunk.length;
      yield chunk;
    }
    ended = true;
  }
  const finish = async () => {
    if (!ended) for await (const _ of chunks());
    return read;
  };
  return { chunks: chunks(), finish };
}

/** The first two records lie within so many bytes, or the file is not the requested one. */
const START_BYTES = 1024 * 1024;

type Content = Pick<Facts, 'empty' | 'format' | 'dialect' | 'header' | 'content'> & { remarks: string[] };

/** What is known of a file that is empty. */
const NO_CONTENT: Content = {
  empty: true,
  format: null,
  dialect: null,
  header: null,
  content: null,
  remarks: ['There is nothing in the file.'],
};

const GZIPPED = ', compressed with gzip';

/** What a stream has begun with, and its rest. */
interface Begun {
  judged: Exclude<Judgement, { result: 'refused' | 'open' }>;
  /** The whole stream, with what was read of it already. */
  chunks: AsyncGenerator<Uint8Array>;
}

/** @param packed ends the sentence of a refusal: `, compressed with gzip` @throws RunError `FileRejected` */
async function begin(source: AsyncIterable<Uint8Array>, reading: Reading, packed: string): Promise<Begun> {
  const { chunks, begun } = await startOf(source, reading, packed);
  return { judged: await begun(), chunks };
}

/** Reads the beginning of a stream; `begun` judges it, and closes the stream where it throws. */
async function startOf(source: AsyncIterable<Uint8Array>, reading: Reading, packed = '') {
  const rest = source[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let bytes = 0;
  let done = false;
  while (bytes < START_BYTES && !done) {
    const next = await rest.next();
    done = next.done ?? false;
    if (next.done) break;
    first.push(next.value);
    bytes += next.value.length;
  }
  const read = Buffer.concat(first);
  const start = read.subarray(0, START_BYTES);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield read;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  const begun = async (): Promise<Begun['judged']> => {
    try {
      return accepted(judgeFile(start, done && bytes <= START_BYTES, reading.expected), reading, packed);
    } catch (error) {
      await rest.return?.();
      throw error;
    }
  };
  return { start, chunks: chunks(), begun };
}

/** @throws RunError `FileRejected` for what is not accepted */
function accepted(judged: Judgement, reading: Reading, packed = ''): Begun['judged'] {
  if (judged.gzipped) throw refused(reading, `gzip${packed === GZIPPED ? ' inside of gzip' : packed}`);
  if (judged.result === 'refused') throw refused(reading, `${judged.looks}${packed}`);
  if (judged.result === 'open') throw refused(reading, `a file whose first two records never end${packed}`);
  return judged;
}

/**
 * Reads a CSV file, or what is published unjudged, to its end.
 * @throws RunError `FileRejected` for CSV that is cut off
 */
async function readStream(
  { judged, chunks }: { judged: Exclude<Begun['judged'], { result: 'zip' }>; chunks: AsyncIterable<Uint8Array> },
  reading: Reading,
): Promise<Content> {
  if (judged.result === 'csv') return { empty: false, format: 'csv', ...(await readCsv(chunks, judged.csv, reading)) };
  for await (const _ of chunks);
  return judged.result === 'empty' ? NO_CONTENT : unjudged(judged.format, reading);
}

/** What the configuration publishes though nothing is known of it. */
function unjudged(format: string, { undeclaredEnd, what }: Reading): Content {
  if (undeclaredEnd) throw doubtfulEnd(what, 'it is neither a CSV file nor a spreadsheet');
  const remark = `Nothing in the file was looked at: it is published as it came, for the setting opaque names ${format}.`;
  return { empty: false, format, dialect: null, header: null, content: null, remarks: [remark] };
}

/** What a zip archive holds. */
interface ZipContent {
  content: Content;
  /** It is the content of the only file in it. */
  packed: boolean;
}

const PACKED = ', packed in a zip archive';

/**
 * Reads a spreadsheet, or a zip archive with exactly one CSV file or spreadsheet in it; any other is published unjudged where the
 * configuration says so.
 * @param packed as for `begin`; an archive inside of another file is not looked into
 * @throws RunError `FileRejected` for what is none of these, damaged, encrypted or has a directory that lies
 */
async function readZip(source: ByteSource, reading: Reading, packed = ''): Promise<ZipContent> {
  // What is in it is counted where it is read.
  const limits = { ...(await limitsOf(reading)), contentBytes: Number.MAX_SAFE_INTEGER };
  const archive = await openZip(source, new ReadingBudget(limits));
  const kind = await zipKind(archive);
  if (kind.kind === 'other') throw refused(reading, `${kind.looks}${packed}`);
  if (kind.kind === 'xlsx') return { content: await readSheet(source, reading), packed: false };
  if (kind.kind === 'one' && packed === '') return readOnly(archive, kind, reading);
  return { content: otherArchive(reading, packed === '' ? ' of several files' : packed), packed: false };
}

/** An archive of several files, or of one that is neither CSV nor a spreadsheet. */
function otherArchive(reading: Reading, which: string): Content {
  if (reading.expected.opaque.includes('archive')) return unjudged('archive', reading);
  throw refused(reading, `a zip archive${which}`);
}

/** The only file of an archive. */
async function readOnly(
  archive: ZipArchive,
  one: Extract<ZipKind, { kind: 'one' }>,
  reading: Reading,
): Promise<ZipContent> {
  // What it holds is judged as an archive, where it is neither CSV nor a spreadsheet.
  const inside = { ...reading, expected: { ...reading.expected, opaque: [] } };
  const begun = await begin(bounded(archive.read(one.entry), reading), inside, PACKED).catch((error: unknown) => {
    if (reading.expected.opaque.includes('archive') && isRefusal(error)) return null;
    throw error;
  });
  if (!begun) return { content: otherArchive(reading, ' of several files'), packed: false };
  const content = await readBegun(begun, inside, PACKED);
  await archive.verify();
  // Programs that read an archive from its beginning would find more.
  if (archive.unlisted() > 0) throw new UnreadableFile('has a directory that does not tell all that is in it');
  return { content: withArchive(content, archive, one), packed: true };
}

/** Reads what is packed in gzip or a zip archive to its end; a spreadsheet has to be unpacked to the disk for that. */
async function readBegun({ judged, chunks }: Begun, reading: Reading, packed: string): Promise<Content> {
  if (judged.result !== 'zip') return readStream({ judged, chunks }, reading);
  const { source, close } = await putAside(chunks, new ReadingBudget(await limitsOf(reading)));
  try {
    return (await readZip(source, reading, packed)).content;
  } finally {
    await close();
  }
}

/** Adds what the archive holds besides the content of its file. */
function withArchive(
  { content, remarks, ...others }: Content,
  archive: ZipArchive,
  { entry, passedOver, besides }: Extract<ZipKind, { kind: 'one' }>,
): Content {
  const elsewhere = [
    ...new Array<string>(besides).fill('other files in the archive'),
    ...(isKnownName(entry.name) ? [] : ['the name of the file in the archive']),
    ...(archive.texts() > 0 ? ['comments or extra fields of the archive'] : []),
  ];
  const kinds = content && [...new Set([...content.elsewhereKinds, ...elsewhere])].toSorted();
  const entries = countText(passedOver, 'other entry', 'other entries');
  const remark = `The archive holds ${entries} beside the file, notes of an operating system: passed over.`;
  return {
    ...others,
    content: content && { ...content, elsewhere: content.elsewhere + elsewhere.length, elsewhereKinds: kinds ?? [] },
    remarks: passedOver === 0 ? remarks : [...remarks, remark],
  };
}

/** @throws RunError `FileRejected` where no spreadsheets are accepted, or it is damaged or has no header */
async function readSheet(source: ByteSource, reading: Reading): Promise<Content> {
  const { formats, headerless, covered = [], sheet = null, otherSheets = [], ...listed } = reading.expected;
  if (!formats.includes('xlsx')) throw refused(reading, 'a spreadsheet of Excel');
  const expected = { listed, covered, headerless, sheet, otherSheets };
  const { header, empty, content, remarks } = await sheetFacts(source, expected, await limitsOf(reading));
  if (empty) return { ...NO_CONTENT, remarks: [...remarks, ...NO_CONTENT.remarks] };
  return { empty, format: 'xlsx', dialect: null, header, content, remarks };
}

/** The file is not what was requested. @param looks in words, without anything of its content */
function refused({ what, contentType, expected }: Reading, looks: string): RunError {
  return new RunError('FileRejected', rejection(what, looks, contentType, expected.formats));
}

function isRefusal(error: unknown): boolean {
  return error instanceof RunError && error.name === 'FileRejected';
}

/** The file is of the right kind, and damaged. @param how `is cut off` */
function damaged({ what }: Reading, how: string): RunError {
  return new RunError('FileRejected', `${what} ${how}: what came is not whole.`);
}

function unfinished({ what }: Reading, why: string): RunError {
  return new RunError('CheckUnfinished', `${what} was not read to its end: ${why}.`);
}

/**
 * The content, as far as it may be read.
 * @throws RunError `CheckUnfinished` when time is over; `DownloadTooLarge` when there is more content than a file may have
 */
async function* bounded(chunks: AsyncIterable<Uint8Array>, reading: Reading): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > reading.maxBytes) {
      const most = `${reading.maxBytes} bytes of content, the most that files.maxBytes allows`;
      throw new RunError('DownloadTooLarge', `${reading.what} unpacks to more than ${most}.`);
    }
    if (reading.secondsLeft() <= 0)
      throw unfinished(reading, `one invocation has time for ${Math.floor(bytes / 1e6)} MB of its content`);
    yield chunk;
  }
}

/** Limits for archives and spreadsheets: the disk is that of the function. */
async function limitsOf({ maxBytes, secondsLeft }: Reading): Promise<ReadingLimits> {
  return { contentBytes: maxBytes, diskBytes: await freeDisk(), secondsLeft };
}

/** @throws RunError `FileRejected` for what archives and spreadsheets are refused for, `CheckUnfinished` for what is too much */
async function withinLimits<T>(reading: Reading, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UnreadableFile) throw new RunError('FileRejected', `${reading.what} ${error.message}.`);
    throw error instanceof ReadingUnfinished ? unfinished(reading, `it ${error.message}`) : error;
  }
}
