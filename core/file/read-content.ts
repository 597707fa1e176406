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

/** The facts about a stored file, and warnings for its readers, in sentences. */
export interface Known {
  facts: Facts;
  remarks: string[];
}

/** Size and CRC-32 of the stored bytes. */
export interface StoredBytes {
  bytes: number;
  crc32: number;
}

/**
 * Reads a stored file to its end: a CSV file or spreadsheet, either plain, compressed with gzip, or alone in a zip
 * archive. A packed file that is published without checks is also read to its end.
 * @param prove receives size and CRC-32 of all stored bytes before the file is accepted or refused, and may throw
 * @throws RunError `FileRejected` for any other, damaged or cut-off file; `CheckUnfinished` if time or disk space
 *   runs out; `DownloadTooLarge` if the content is larger than allowed; any error from reading the bytes
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
    // The file may be damaged in storage, which is not the fault of the CRM. `prove` throws in this case.
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

/** Combines the facts about the content with those about the stored file. */
function known(bytes: number, compression: string | null, { remarks, ...content }: Content): Known {
  return { facts: { bytes, compression, ...content }, remarks };
}

/**
 * Reads all bytes of a source and hashes them. `finish` reads the bytes that the reader of `chunks` did not read.
 * @returns `finish` returns size and CRC-32 of all bytes
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

/** The first two records of a CSV file must end within this number of bytes. */
const START_BYTES = 1024 * 1024;

type Content = Pick<Facts, 'format' | 'dialect' | 'header' | 'content'> & { remarks: string[] };

/** The facts about an empty file. */
const NO_CONTENT: Content = {
  format: null,
  dialect: null,
  header: null,
  content: null,
  remarks: ['There is nothing in the file.'],
};

const GZIPPED = ', compressed with gzip';

/** The judgement of a stream by its beginning, and its bytes. */
interface Begun {
  judged: Exclude<Judgement, { result: 'refused' | 'open' }>;
  /** The whole stream, including the bytes that were read for the judgement. */
  chunks: AsyncGenerator<Uint8Array>;
}

/** @param packed the end of a refusal, such as `, compressed with gzip` @throws RunError `FileRejected` */
async function begin(source: AsyncIterable<Uint8Array>, reading: Reading, packed: string): Promise<Begun> {
  const { chunks, begun } = await startOf(source, reading, packed);
  return { judged: await begun(), chunks };
}

/** Reads the beginning of a stream. `begun` judges it, and closes the stream if it throws. */
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

/** @throws RunError `FileRejected` for a file that is not accepted */
function accepted(judged: Judgement, reading: Reading, packed = ''): Begun['judged'] {
  if (judged.gzipped) throw refused(reading, `gzip${packed === GZIPPED ? ' inside of gzip' : packed}`);
  if (judged.result === 'refused' || judged.result === 'open') throw refused(reading, `${judged.looks}${packed}`);
  return judged;
}

/**
 * Reads a CSV file, or a file that is published without checks, to its end.
 * @throws RunError `FileRejected` for a CSV file that is cut off
 */
async function readStream(
  { judged, chunks }: { judged: Exclude<Begun['judged'], { result: 'zip' }>; chunks: AsyncIterable<Uint8Array> },
  reading: Reading,
): Promise<Content> {
  if (judged.result === 'csv') return { format: 'csv', ...(await readCsv(chunks, judged.csv, reading)) };
  for await (const _ of chunks);
  return judged.result === 'empty' ? NO_CONTENT : unjudged(judged.format, reading);
}

/** The facts about a file that the configuration publishes without checks. */
function unjudged(format: string, { undeclaredEnd, what }: Reading): Content {
  if (undeclaredEnd) throw doubtfulEnd(what, 'it is neither a CSV file nor a spreadsheet');
  const remark = `Nothing in the file was looked at: it is published as it came, for the setting opaque names ${format}.`;
  return { format, dialect: null, header: null, content: null, remarks: [remark] };
}

/** The content of a zip archive. */
interface ZipContent {
  content: Content;
  /** The content is that of the only file in the archive. */
  packed: boolean;
}

const PACKED = ', packed in a zip archive';

/**
 * Reads a spreadsheet, or a zip archive with exactly one CSV file or spreadsheet. Any other archive is published
 * without checks if the configuration allows it.
 * @param packed as for `begin`; an archive inside another file is not opened
 * @throws RunError `FileRejected` for any other or encrypted content, damage, or a directory that differs from the
 *   entries
 */
async function readZip(source: ByteSource, reading: Reading, packed = ''): Promise<ZipContent> {
  // No limit here: the content is counted where it is read.
  const limits = { ...(await limitsOf(reading)), contentBytes: Number.MAX_SAFE_INTEGER };
  const archive = await openZip(source, new ReadingBudget(limits));
  const kind = await zipKind(archive);
  if (kind.kind === 'other') throw refused(reading, `${kind.looks}${packed}`);
  if (kind.kind === 'xlsx') return { content: await readSheet(source, reading), packed: false };
  if (kind.kind === 'one' && packed === '') return readOnly(archive, kind, reading);
  return { content: otherArchive(reading, packed === '' ? ' of several files' : packed), packed: false };
}

/** The result for an archive of several files, or of one file that is neither CSV nor a spreadsheet. */
function otherArchive(reading: Reading, which: string): Content {
  if (reading.expected.opaque.includes('archive')) return unjudged('archive', reading);
  throw refused(reading, `a zip archive${which}`);
}

/** Reads the only file of an archive. */
async function readOnly(
  archive: ZipArchive,
  one: Extract<ZipKind, { kind: 'one' }>,
  reading: Reading,
): Promise<ZipContent> {
  // A file that is neither CSV nor a spreadsheet is judged as an archive.
  const inside = { ...reading, expected: { ...reading.expected, opaque: [] } };
  const begun = await begin(bounded(archive.read(one.entry), reading), inside, PACKED).catch((error: unknown) => {
    if (reading.expected.opaque.includes('archive') && isRefusal(error)) return null;
    throw error;
  });
  if (!begun) return { content: otherArchive(reading, ' of several files'), packed: false };
  const content = await readBegun(begun, inside, PACKED);
  await archive.verify();
  // Programs that read an archive from its beginning would find more files.
  if (archive.unlisted() > 0) throw new UnreadableFile('has a directory that does not tell all that is in it');
  return { content: withArchive(content, archive, one), packed: true };
}

/** Reads the content of gzip or of a zip archive to its end. A spreadsheet is unpacked to the disk first. */
async function readBegun({ judged, chunks }: Begun, reading: Reading, packed: string): Promise<Content> {
  if (judged.result !== 'zip') return readStream({ judged, chunks }, reading);
  const { source, close } = await putAside(chunks, new ReadingBudget(await limitsOf(reading)));
  try {
    return (await readZip(source, reading, packed)).content;
  } finally {
    await close();
  }
}

/** Adds the text that the archive holds besides the content of its file. */
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

/** @throws RunError `FileRejected` if spreadsheets are not accepted, or if the file is damaged or has no header */
async function readSheet(source: ByteSource, reading: Reading): Promise<Content> {
  const { formats, headerless, covered = [], sheet = null, otherSheets = [], ...listed } = reading.expected;
  if (!formats.includes('xlsx')) throw refused(reading, 'a spreadsheet of Excel');
  const expected = { listed, covered, headerless, sheet, otherSheets };
  const { header, empty, content, remarks } = await sheetFacts(source, expected, await limitsOf(reading));
  if (empty) return { ...NO_CONTENT, remarks: [...remarks, ...NO_CONTENT.remarks] };
  return { format: 'xlsx', dialect: null, header, content, remarks };
}

/** The error for a file that was not requested. @param looks describes the file in words, without quoting it */
function refused({ what, contentType, expected }: Reading, looks: string): RunError {
  return new RunError('FileRejected', rejection(what, looks, contentType, expected.formats));
}

function isRefusal(error: unknown): boolean {
  return error instanceof RunError && error.name === 'FileRejected';
}

/** The error for a file of the right kind that is damaged. @param how `is cut off` */
function damaged({ what }: Reading, how: string): RunError {
  return new RunError('FileRejected', `${what} ${how}: what came is not whole.`);
}

function unfinished({ what }: Reading, why: string): RunError {
  return new RunError('CheckUnfinished', `${what} was not read to its end: ${why}.`);
}

/**
 * Passes the content on within the limits.
 * @throws RunError `CheckUnfinished` if the time is over; `DownloadTooLarge` if the content is larger than allowed
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

/** Limits for archives and spreadsheets, with the free space on the function's disk. */
async function limitsOf({ maxBytes, secondsLeft }: Reading): Promise<ReadingLimits> {
  return { contentBytes: maxBytes, diskBytes: await freeDisk(), secondsLeft };
}

/** @throws RunError `FileRejected` for an UnreadableFile, `CheckUnfinished` for a ReadingUnfinished */
async function withinLimits<T>(reading: Reading, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof UnreadableFile) throw new RunError('FileRejected', `${reading.what} ${error.message}.`);
    throw error instanceof ReadingUnfinished ? unfinished(reading, `it ${error.message}`) : error;
  }
}
