import { isUtf8 } from 'node:buffer';
import { crc32Text } from '../../transfer/base/crc32.ts';
import type { Manifest } from '../export/manifest.ts';
import { isFilled } from '../folded.ts';
import { type Content, type Facts, isEmptyFile } from '../gate/facts.ts';
import { cellsOf as cellsOfRow } from '../spreadsheet/sheet-rows.ts';
import { openWorkbook } from '../spreadsheet/workbook.ts';
import { type ByteSource, hashing, startOf, unpackToDisk } from './byte-source.ts';
import { cellsOf, type Separator } from './csv-cells.ts';
import { bytesAbove } from './csv-start.ts';
import { decoded, isWide, textStart, Utf16Reader } from './encoding.ts';
import { zipKind } from './file-kind.ts';
import { gunzipped } from './gunzip.ts';
import { foldedRecord } from './later-headers.ts';
import { ReadingBudget, type ReadingLimits, ReadingUnfinished } from './reading-limits.ts';
import { Scanner } from './scanner.ts';
import { UnreadableFile } from './unreadable-file.ts';
import { openZip } from './zip-archive.ts';

/** How a stored file has to be read, by its manifest. */
export interface StoredForm extends Pick<Facts, 'format' | 'compression' | 'dialect'> {
  content: Pick<Content, 'place' | 'width' | 'rowsAbove' | 'repeatedHeaders' | 'broken'> | null;
}

/** A record as its cells, or as the bytes of its text in UTF-8. */
export type StoredRecord = string[] | Buffer;

export interface Reading {
  limits: ReadingLimits;
  /** Records of CSV below the first with this many cells are returned as bytes, if DuckDB finds the same cells in them. */
  bytesOfWidth?: number | undefined;
}

/**
 * The records of a stored file, one at a time; its header comes first if it has one. Rows above the header and records
 * that repeat it are omitted.
 * @throws UnreadableFile; ReadingUnfinished if the file exceeds the limits; any error from reading the source
 */
export function fileRecords(source: ByteSource, form: StoredForm, limits: ReadingLimits): AsyncGenerator<string[]> {
  return eachRecord(fileBatches(source, form, { limits }));
}

/** The records, one at a time, of batches without records as bytes. */
export async function* eachRecord(batches: AsyncIterable<StoredRecord[]>): AsyncGenerator<string[]> {
  for await (const batch of batches) yield* batch as string[][];
}

/** The records of a stored file, many at a time: a batch is valid until the next one is requested. */
function fileBatches(source: ByteSource, form: StoredForm, reading: Reading): AsyncGenerator<StoredRecord[]> {
  if (!form.content?.repeatedHeaders) return allBatches(source, form, reading);
  return withoutRepeats(allBatches(source, form, { limits: reading.limits }));
}

async function* withoutRepeats(batches: AsyncIterable<StoredRecord[]>): AsyncGenerator<StoredRecord[]> {
  let header: string | undefined;
  for await (const record of eachRecord(batches)) {
    const text = foldedRecord(record);
    if (text !== header) yield [record];
    header ??= text;
  }
}

async function* allBatches(
  source: ByteSource,
  form: StoredForm,
  { limits, bytesOfWidth }: Reading,
): AsyncGenerator<StoredRecord[]> {
  const { format, compression, content } = form;
  const budget = new ReadingBudget(limits);
  const stored = () => source.read(0, source.size);
  const unpacked = () =>
    compression === 'zip' ? unzipped(source, budget) : compression === 'gzip' ? gunzipped(stored()) : stored();
  const place = content ?? { place: null, width: null };
  if (format === 'csv') yield* csvBatches(await unpacked(), form, bytesOfWidth);
  else if (format !== 'xlsx') throw new UnreadableFile('is neither CSV nor a spreadsheet (xlsx), so it has no records');
  else if (compression === null) yield* sheetRecords(source, place, budget);
  else {
    // A workbook is read from its end, so it must be unpacked first.
    const inner = await unpackToDisk(await unpacked(), budget);
    try {
      yield* sheetRecords(inner.source, place, budget);
    } finally {
      await inner.close();
    }
  }
}

async function unzipped(source: ByteSource, budget: ReadingBudget): Promise<AsyncIterable<Uint8Array>> {
  const archive = await openZip(source, budget);
  const kind = zipKind(archive);
  if (kind.kind !== 'one') throw new UnreadableFile('is a zip archive that does not hold exactly one file');
  return archive.read(kind.entry);
}

export interface Proof extends Reading {
  /** Makes the error for a file with other bytes than its manifest. @param crc the CRC-32 of the file */
  refuse: (crc: number) => Error;
}

/**
 * The records of a published file, many at a time; its header comes first if it has one. To prove that the bytes are
 * those of the manifest, their CRC-32 is compared after the last record, or before the first if the format is not read
 * in order. A batch is valid until the next one is requested.
 * @throws the error of `refuse`; errors that `unreadableReason` explains; any error from reading the source
 */
export async function* provenBatches(
  source: ByteSource,
  file: Manifest['file'],
  { refuse, ...reading }: Proof,
): AsyncGenerator<StoredRecord[]> {
  const empty = isEmptyFile(file);
  // Spreadsheets and zip archives are not read from beginning to end.
  const inOrder = !empty && file.format !== 'xlsx' && file.compression !== 'zip';
  const { chunks, finish } = hashing(source);
  if (inOrder) yield* fileBatches({ size: source.size, read: () => chunks }, file, reading);
  const { crc32: crc } = await finish();
  if (crc32Text(crc) !== file.crc32) throw refuse(crc);
  if (!empty && !inOrder) yield* fileBatches(source, file, reading);
}

/** Why a file cannot be read, to follow "The file …", without quoting the file; `undefined` for any other error. */
export function unreadableReason(error: unknown): string | undefined {
  return error instanceof UnreadableFile || error instanceof ReadingUnfinished ? error.message : undefined;
}

/**
 * The records of a CSV file, its header first. Titles above the header are omitted.
 * @throws UnreadableFile; any error from reading the bytes
 */
async function* csvBatches(
  bytes: AsyncIterable<Uint8Array>,
  { dialect, content }: StoredForm,
  bytesOfWidth: Reading['bytesOfWidth'],
): AsyncGenerator<StoredRecord[]> {
  const encoding = dialect?.encoding ?? null;
  const separator = (dialect?.separator ?? ',') as Separator;
  const decoder = encoding === 'windows-1255' ? encoding : 'utf-8';
  const isValid = decoder === 'utf-8' && !content?.broken;
  const wide = isWide(encoding) ? new Utf16Reader(encoding) : null;
  const above = content?.rowsAbove ?? 0;
  const records: StoredRecord[] = [];
  const scanner = new Scanner(separator, (found) => {
    if (found.records <= above) return;
    const record = found.block.subarray(found.from, found.to);
    if (isValid && !isUtf8(record)) throw new UnreadableFile(`has bytes that are not ${encoding ?? 'utf-8'}`);
    const isWanted =
      isValid && found.records > above + 1 && bytesOfWidth !== undefined && readsAlike(found, bytesOfWidth);
    records.push(isWanted ? Buffer.from(record) : cellsOf(decoded(record, decoder), separator, found.quoted > 0));
  });
  const start = await startOf(bytes);
  let skip = bytesAbove(textStart(start.first), dialect?.separatorLine ?? false);
  for await (const chunk of start.chunks) {
    const text = chunk.subarray(skip);
    skip = 0;
    scanner.push(wide ? wide.read(text) : text);
    yield records;
    records.length = 0;
  }
  scanner.end();
  if (wide?.cut) throw new UnreadableFile('ends in the middle of a character');
  if (scanner.endsQuoted) throw new UnreadableFile('ends inside quotation marks');
  yield records;
}

/**
 * Whether DuckDB splits the bytes of a record into the same cells as the scanner. DuckDB fills up short records,
 * accepts only one kind of line break, refuses text after a closing quotation mark, ignores blanks before an opening
 * one, and drops a byte order mark (0xef 0xbb 0xbf) at the beginning of a file.
 */
function readsAlike({ block, from, to, cells, ownStrayBreaks, ownStrayQuotes }: Scanner, width: number): boolean {
  if (cells !== width || ownStrayBreaks + ownStrayQuotes > 0 || block[from] === 0xef) return false;
  return !block.subarray(from, to).includes(' "');
}

/**
 * The records of a workbook that was counted, in batches of one; its header comes first if it has one. Each record has a
 * text for every column of the header, and more if its row is longer. Rows without a value below the header are
 * omitted.
 * @throws UnreadableFile, ReadingUnfinished; any error from reading the source
 */
async function* sheetRecords(
  source: ByteSource,
  { place, width, headed = null }: Pick<Content, 'place' | 'width'> & Partial<Pick<Content, 'headed'>>,
  budget: ReadingBudget,
): AsyncGenerator<string[][]> {
  if (!place || width === null) {
    throw new UnreadableFile('was stored by a release that did not look for the header of a sheet');
  }
  const workbook = await openWorkbook(await openZip(source, budget));
  const sheet = workbook.sheets[place.sheet - 1];
  if (!sheet) throw new UnreadableFile('lacks the sheet whose rows the manifest counts');
  const first = place.column - 1;
  let named: ReadonlySet<number> | undefined;
  for await (const row of sheet.rows()) {
    if (row.number < place.row || (named && !row.columns.some((column) => named?.has(column)))) continue;
    const last = row.columns.findLast((_, at) => isFilled(row.texts[at] ?? '')) ?? 0;
    const cells = cellsOfRow(row, first, Math.max(width, last - first + 1));
    // The first row is the header, if the sheet has one.
    named ??= new Set(
      cells.slice(0, width).flatMap((cell, at) => (headed === false || isFilled(cell) ? [first + at] : [])),
    );
    yield [cells];
  }
}
