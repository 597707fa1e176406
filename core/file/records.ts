import { crc32 } from 'node:zlib';
import { crc32Text } from '../../transfer/base/crc32.ts';
import { gunzipped } from '../content/gunzip.ts';
import { zipKind } from '../content/zip-kind.ts';
import type { Manifest } from '../export/manifest.ts';
import type { ByteSource } from '../files/byte-source.ts';
import { isEmptyFile } from '../files/read-formats.ts';
import type { Content, Dialect } from '../gate/facts.ts';
import { sheetRecords } from '../spreadsheet/sheet-records.ts';
import { UnreadableSheet } from '../spreadsheet/unreadable-sheet.ts';
import { putAside } from '../zip/put-aside.ts';
import { ReadingBudget, type ReadingLimits, ReadingUnfinished } from '../zip/reading-limits.ts';
import { openZip, UnreadableZip } from '../zip/zip-archive.ts';
import { csvRecords } from './csv-records.ts';
import { foldedRecord } from './later-headers.ts';
import { UnreadableCsv } from './scanner.ts';

/** What the manifest says of a stored file that was read to its end. */
export interface StoredForm {
  /** The format of the file: csv or xlsx. */
  format: string | null;
  /** gzip or zip: the file is alone in it. */
  compression: string | null;
  dialect: Dialect | null;
  content: Pick<Content, 'place' | 'width' | 'rowsAbove' | 'repeatedHeaders' | 'broken'> | null;
}

/** The content of a file cannot be read: the message says why, without anything of it. */
export function isUnreadable(error: unknown): error is UnreadableCsv | UnreadableSheet | UnreadableZip {
  return error instanceof UnreadableCsv || error instanceof UnreadableSheet || error instanceof UnreadableZip;
}

/**
 * The records of a stored file, its header first where it has one, one at a time. Rows above the header, and records that repeat
 * it, are left out.
 * @throws UnreadableCsv, UnreadableSheet, UnreadableZip (`isUnreadable`); ReadingUnfinished where it is too much for the limits;
 *   what reading the source throws
 */
export function fileRecords(source: ByteSource, form: StoredForm, limits: ReadingLimits): AsyncGenerator<string[]> {
  const records = allRecords(source, form, limits);
  return form.content?.repeatedHeaders ? withoutRepeats(records) : records;
}

async function* withoutRepeats(records: AsyncIterable<string[]>): AsyncGenerator<string[]> {
  let header: string | undefined;
  for await (const record of records) {
    const text = foldedRecord(record);
    if (text !== header) yield record;
    header ??= text;
  }
}

async function* allRecords(source: ByteSource, form: StoredForm, limits: ReadingLimits): AsyncGenerator<string[]> {
  if (form.format === 'csv') {
    const { compression } = form;
    const plain =
      compression === 'gzip' ? gunzipped(source.read(0, source.size), unpackable) : source.read(0, source.size);
    yield* csvRecords(compression === 'zip' ? await unzipped(source, new ReadingBudget(limits)) : plain, form);
  } else if (form.format === 'xlsx') {
    yield* workbookRecords(source, form, limits);
  } else {
    throw new UnreadableSheet('is neither CSV nor a spreadsheet (xlsx), so it has no records');
  }
}

async function* workbookRecords(
  source: ByteSource,
  { compression, content }: StoredForm,
  limits: ReadingLimits,
): AsyncGenerator<string[]> {
  const place = content ?? { place: null, width: null };
  if (compression === null) return yield* sheetRecords(source, place, limits);
  const inner = await unpackedWorkbook(source, compression, limits);
  try {
    yield* sheetRecords(inner.source, place, limits);
  } finally {
    await inner.close();
  }
}

/**
 * A workbook that is alone in gzip or zip, on the disk: it is read from its end. `close` removes it.
 * @throws UnreadableZip, ReadingUnfinished; what reading the source throws
 */
async function unpackedWorkbook(
  source: ByteSource,
  compression: string,
  limits: ReadingLimits,
): Promise<{ source: ByteSource; close: () => Promise<void> }> {
  const budget = new ReadingBudget(limits);
  const chunks =
    compression === 'zip' ? await unzipped(source, budget) : gunzipped(source.read(0, source.size), unpackable);
  return await putAside(chunks, budget);
}

async function unzipped(source: ByteSource, budget: ReadingBudget): Promise<AsyncIterable<Uint8Array>> {
  const archive = await openZip(source, budget);
  const kind = zipKind(archive);
  if (kind.kind !== 'one') throw new UnreadableZip('is a zip archive that does not hold exactly one file');
  return archive.read(kind.entry);
}

const unpackable = () => new UnreadableZip('is gzip that cannot be unpacked');

export interface Proof {
  limits: ReadingLimits;
  /** The error for other bytes than those of the manifest. @param crc their CRC-32 */
  refuse: (crc: number) => Error;
}

/**
 * The records of a whole published file, its header first where it has one; none of an empty file. That they are of the bytes of
 * its manifest is proven by the last one; of spreadsheets and zip archives, which are not read in order, before the first.
 * @throws what `refuse` makes; errors that `whyUnread` has words for; what reading the source throws
 */
export async function* provenRecords(
  source: ByteSource,
  file: Manifest['file'],
  { limits, refuse }: Proof,
): AsyncGenerator<string[]> {
  let crc = 0;
  const read = async function* (from: number, to: number): AsyncGenerator<Uint8Array> {
    for await (const chunk of source.read(from, to)) {
      crc = crc32(chunk, crc);
      yield chunk;
    }
  };
  const empty = isEmptyFile(file);
  const inOrder = !empty && isReadInOrder(file);
  if (inOrder) yield* fileRecords({ size: source.size, read }, file, limits);
  else for await (const _ of read(0, source.size));
  if (crc32Text(crc) !== file.crc32) throw refuse(crc);
  if (!empty && !inOrder) yield* fileRecords(source, file, limits);
}

/** Whether the records of a file come from its beginning to its end: those of spreadsheets and zip archives do not. */
export function isReadInOrder({ format, compression }: Pick<Manifest['file'], 'format' | 'compression'>): boolean {
  return format !== 'xlsx' && compression !== 'zip';
}

/** Why the content cannot be read, behind "The file …" and without anything of it; `undefined` for any other error. */
export function whyUnread(error: unknown): string | undefined {
  return isUnreadable(error) || error instanceof ReadingUnfinished ? error.message : undefined;
}
