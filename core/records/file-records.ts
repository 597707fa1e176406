import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { zipKind } from '../content/zip-kind.ts';
import { csvRecords } from '../file/csv-records.ts';
import { UnreadableCsv } from '../file/scanner.ts';
import type { ByteSource } from '../files/byte-source.ts';
import type { Content, Dialect } from '../gate/facts.ts';
import { sheetRecords } from '../spreadsheet/sheet-records.ts';
import { UnreadableSheet } from '../spreadsheet/unreadable-sheet.ts';
import { putAside } from '../zip/put-aside.ts';
import { ReadingBudget, type ReadingLimits } from '../zip/reading-limits.ts';
import { openZip, UnreadableZip } from '../zip/zip-archive.ts';

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
 * The records of a stored file, its header first where it has one, one at a time. Rows above the header of a sheet are left out.
 * @throws UnreadableCsv, UnreadableSheet, UnreadableZip (`isUnreadable`); ReadingUnfinished where it is too much for the limits;
 *   what reading the source throws
 */
export async function* fileRecords(
  source: ByteSource,
  form: StoredForm,
  limits: ReadingLimits,
): AsyncGenerator<string[]> {
  if (form.format === 'csv') {
    const { compression } = form;
    const plain = compression === 'gzip' ? gunzipped(source) : source.read(0, source.size);
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
  const chunks = compression === 'zip' ? await unzipped(source, budget) : gunzipped(source);
  return await putAside(chunks, budget);
}

async function unzipped(source: ByteSource, budget: ReadingBudget): Promise<AsyncIterable<Uint8Array>> {
  const archive = await openZip(source, budget);
  const kind = zipKind(archive);
  if (kind.kind !== 'one') throw new UnreadableZip('is a zip archive that does not hold exactly one file');
  return archive.read(kind.entry);
}

async function* gunzipped(source: ByteSource): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  // The error arrives where the content is read.
  pipeline(source.read(0, source.size), gunzip, () => undefined);
  try {
    yield* gunzip;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw code.startsWith('Z_') ? new UnreadableZip('is gzip that cannot be unpacked') : error;
  }
}
