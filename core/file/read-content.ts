import { countText } from '../count-text.ts';
import { RunError, type WrongPart } from '../errors.ts';
import type { Facts } from '../gate/facts.ts';
import { isAllowedName } from '../spreadsheet/allowed-text.ts';
import { sheetFacts } from '../spreadsheet/sheet-facts.ts';
import { openWorkbook } from '../spreadsheet/workbook.ts';
import { type ByteSource, hashing, type Start, type StoredBytes, startOf, unpackToDisk } from './byte-source.ts';
import { doubtfulEnd, readCsv } from './csv.ts';
import type { Expected } from './expected-file.ts';
import { isGzip, judgeCompound, judgeContent, rejection, type ZipKind, zipKind } from './file-kind.ts';
import { gunzipped } from './gunzip.ts';
import { freeDisk, ReadingBudget, ReadingUnfinished } from './reading-limits.ts';
import { UnreadableFile } from './unreadable-file.ts';
import { openZip, type ZipArchive } from './zip-archive.ts';

/** How to read a file. */
export interface Reading {
  expected: Expected;
  /** The name of the file in messages: `The file at runs/…`. */
  what: string;
  /** The declared media type; '' = none was declared. */
  contentType: string;
  /** The most bytes that the content may have, unpacked (`files.maxBytes`). */
  maxBytes: number;
  /** Seconds until reading must end. */
  secondsLeft: () => number;
  /** Only the closing of the connection marked the end of the file: its content must prove it complete. */
  undeclaredEnd: boolean;
}

/** The facts about a stored file, and warnings for its readers, in sentences. */
export interface ReadContent {
  facts: Facts;
  warnings: string[];
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
): Promise<ReadContent> {
  const { chunks, finish } = hashing(source);
  const { maxBytes, secondsLeft } = reading;
  const budget = new ReadingBudget({ contentBytes: maxBytes, diskBytes: await freeDisk(), secondsLeft });
  try {
    const { warnings, ...facts } = await readStored(source, chunks, { ...reading, budget });
    prove(await finish());
    return { facts: { bytes: source.size, ...facts }, warnings };
  } catch (error) {
    // The file may be damaged in storage, which is not the fault of the CRM. `prove` throws in this case.
    if (error instanceof UnreadableFile) prove(await finish());
    throw errorOf(error, reading);
  }
}

function errorOf(error: unknown, { what }: Reading): unknown {
  if (error instanceof UnreadableFile)
    return new RunError('FileRejected', `${what} ${error.message}.`, { part: error.part });
  if (!(error instanceof ReadingUnfinished)) return error;
  return error.tooLarge
    ? new RunError('DownloadTooLarge', `${what} ${error.message}, which is the most that files.maxBytes allows.`)
    : new RunError('CheckUnfinished', `${what} was not read to its end, because it ${error.message}.`);
}

type Content = Omit<Facts, 'bytes'> & { warnings: string[] };

/** The facts about an empty file. */
const NO_CONTENT: Content = {
  format: null,
  compression: null,
  dialect: null,
  rows: 0,
  header: null,
  content: null,
  warnings: ['The file is empty.'],
};

type Context = Reading & { budget: ReadingBudget };

/** The end of the message of a refusal: how the content is packed. */
type Packed = '' | typeof GZIPPED | typeof ZIPPED;
const GZIPPED = ', compressed with gzip';
const ZIPPED = ', packed in a zip archive';

async function readStored(source: ByteSource, chunks: AsyncGenerator<Uint8Array>, context: Context): Promise<Content> {
  const stored = await startOf(chunks);
  if (isGzip(stored.first)) {
    const elsewhere = new Set<string>();
    const content = gunzipped(stored.chunks, (texts) => {
      for (const what of containerTexts(texts)) elsewhere.add(what);
    });
    const read = await readStream(await startOf(counted(content, context)), GZIPPED, context);
    return { ...read, compression: 'gzip', content: withTexts(read.content, [...elsewhere]) };
  }
  return readStream({ ...stored, chunks: counted(stored.chunks, context) }, '', context, source);
}

async function* counted(chunks: AsyncIterable<Uint8Array>, { budget }: Context): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    budget.read(chunk.length);
    yield chunk;
  }
}

/**
 * Reads a stream to its end. A zip archive is unpacked to the disk first, unless `source` has its bytes.
 * @throws UnreadableFile if it is not accepted, damaged or cut off
 */
async function readStream(start: Start, packed: Packed, context: Context, source?: ByteSource): Promise<Content> {
  try {
    if (isGzip(start.first)) throw refused(`gzip${packed === GZIPPED ? ' inside of gzip' : packed}`, context);
    const begins = judgeContent(start.first, start.complete, context.expected);
    const judged = begins.result === 'compound' ? await judgeCompound(start.chunks, context.expected) : begins;
    if ('description' in judged) throw refused(`${judged.description}${packed}`, context, judged.part);
    if (judged.result === 'csv')
      return { ...NO_CONTENT, format: 'csv', ...(await readCsv(start.chunks, judged.csv, context)) };
    if (judged.result === 'zip') return await readArchive(start, packed, context, source);
    if (judged.result !== 'opaque') return NO_CONTENT;
    // Packed bytes may be damaged.
    for await (const _ of start.chunks);
    return unjudged(judged.format, context);
  } finally {
    await start.close();
  }
}

async function readArchive(start: Start, packed: Packed, context: Context, stored?: ByteSource): Promise<Content> {
  if (stored) {
    await start.close();
    return readZip(stored, packed, context);
  }
  const { source, close } = await unpackToDisk(start.chunks, context.budget);
  try {
    return await readZip(source, packed, context);
  } finally {
    await close();
  }
}

/**
 * Reads a spreadsheet, or a zip archive with exactly one CSV file or spreadsheet. Any other archive is published
 * without checks if the configuration allows it. An archive inside another file is not opened.
 * @throws UnreadableFile for any other or encrypted content, damage, or a directory that differs from the entries
 */
async function readZip(source: ByteSource, packed: Packed, context: Context): Promise<Content> {
  const { formats, opaque } = context.expected;
  const archive = await openZip(source, context.budget);
  const kind = zipKind(archive);
  if (kind.kind === 'other') throw refused(`${kind.description}${packed}`, context);
  if (kind.kind === 'office') {
    if (!formats.includes('xlsx')) throw refused('an Excel spreadsheet', context);
    const facts = await sheetFacts(await openWorkbook(archive), context.expected);
    return facts ? { ...NO_CONTENT, format: 'xlsx', ...facts } : NO_CONTENT;
  }
  if (kind.kind === 'one' && packed === '') {
    const start = await startOf(archive.read(kind.entry));
    // A file that is neither CSV nor a spreadsheet is judged as an archive.
    const inside = { ...context, expected: { ...context.expected, opaque: [] } };
    const { result } = judgeContent(start.first, start.complete, inside.expected);
    const isRead = !isGzip(start.first) && ['csv', 'zip', 'empty'].includes(result);
    if (isRead || !opaque.includes('archive'))
      return withArchive(await readStream(start, ZIPPED, inside), archive, kind);
    await start.close();
  }
  if (opaque.includes('archive')) return unjudged('archive', context);
  throw refused(`a zip archive${packed === '' ? ' of several files' : packed}`, context);
}

/** Verifies the archive, and adds where it contains text besides the content of its file. */
async function withArchive(
  { content, warnings, ...others }: Content,
  archive: ZipArchive,
  { entry, skipped, besides }: Extract<ZipKind, { kind: 'one' }>,
): Promise<Content> {
  await archive.verify();
  // Programs that read an archive from its beginning would find more files.
  if (archive.hasUnlisted()) throw new UnreadableFile('has content that its directory does not list');
  const elsewhere = [
    ...new Array<string>(besides).fill('other files in the archive'),
    ...containerTexts({ name: entry.name, others: archive.hasTexts() }),
  ];
  const entries = countText(skipped, 'other entry', 'other entries');
  const warning = `Besides the file, the archive has ${entries} that an operating system added. They are ignored.`;
  return {
    ...others,
    compression: 'zip',
    content: withTexts(content, elsewhere),
    warnings: skipped === 0 ? warnings : [...warnings, warning],
  };
}

/** The places of an archive or of gzip that hold text, besides the content of the file. */
function containerTexts({ name, others }: { name: string; others: boolean }): string[] {
  return [
    ...(isAllowedName(name) ? [] : ['the name of the file in the archive']),
    ...(others ? ['other names, comments or extra fields of the archive'] : []),
  ];
}

function withTexts(content: Content['content'], elsewhere: string[]): Content['content'] {
  return (
    content && {
      ...content,
      elsewhere: content.elsewhere + elsewhere.length,
      elsewhereKinds: [...new Set([...content.elsewhereKinds, ...elsewhere])].toSorted(),
    }
  );
}

/** The facts about a file of a kind that is published without checks (`opaque`). */
function unjudged(format: string, { undeclaredEnd }: Reading): Content {
  if (undeclaredEnd) throw doubtfulEnd('it is neither a CSV file nor a spreadsheet');
  const warning = `The content of the file was not read. The file is published as the CRM sent it, because the setting opaque lists ${format}.`;
  return { ...NO_CONTENT, format, rows: null, warnings: [warning] };
}

/** The error for a file that was not requested. @param description of the file in words, without quoting it */
function refused(description: string, { contentType, expected }: Reading, part?: WrongPart): UnreadableFile {
  return new UnreadableFile(rejection(description, contentType, expected.formats), part);
}
