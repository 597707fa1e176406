import type { Manifest } from '../../core/export/manifest.ts';
import { csvRecordsIn } from '../../core/files/csv-records-in.ts';
import { kindOf } from '../../core/files/file-kind.ts';
import { isEmptyFile } from '../../core/files/read-formats.ts';
import { fileRecords } from '../../core/records/file-records.ts';
import { isReadInOrder } from '../../core/records/proven-records.ts';
import { failed } from './find.ts';
import { type ExportsBucket, firstBytes, type StoredFile, storedFile } from './object.ts';
import { NO_LIMITS, refuseUnread, sourceOf, unreadable } from './read-file.ts';

/** Ten rows with all columns of an entity fit into these. */
const FIRST_BYTES = 64 * 1024;
/** A first line that only names the separator. */
const SEPARATOR_LINE = /^.*(?:\r\n|\n|\r)/;

/**
 * Reads the first rows of a file, without its header: of a text from its first 64 KiB, of a spreadsheet or zip archive what they
 * take.
 * @returns fewer where these do not hold as many
 * @throws CommandError (exit code 1) where the file cannot be read, or is gone
 */
export async function firstRows(target: ExportsBucket, manifest: Manifest, most: number): Promise<string[][]> {
  refuseUnread(manifest);
  const file = await storedFile(target, manifest);
  if (isEmptyFile(manifest.file)) return [];
  const { header } = manifest.file;
  const inOrder = isReadInOrder(manifest.file);
  const count = header === null ? most : most + 1;
  const rows = await (inOrder ? rowsOfText(target, manifest, file, count) : rowsOfSheet(target, manifest, file, count));
  return header === null ? rows : rows.slice(1);
}

async function rowsOfSheet(
  target: ExportsBucket,
  manifest: Manifest,
  file: StoredFile,
  most: number,
): Promise<string[][]> {
  const rows: string[][] = [];
  try {
    for await (const record of fileRecords(sourceOf(target, file), manifest.file, NO_LIMITS)) {
      rows.push(record);
      if (rows.length === most) break;
    }
  } catch (error) {
    throw unreadable(file.key, error);
  }
  return rows;
}

async function rowsOfText(
  target: ExportsBucket,
  manifest: Manifest,
  file: StoredFile,
  most: number,
): Promise<string[][]> {
  const found = kindOf(await firstBytes(target, file, FIRST_BYTES), file.bytes <= FIRST_BYTES);
  if (found.kind === 'empty') return [];
  if (found.kind !== 'text') throw failed(`The file ${file.key} does not begin as a CSV file does: download gets it.`);
  const { dialect } = manifest.file;
  const body = dialect?.separatorLine ? found.start.text.replace(SEPARATOR_LINE, '') : found.start.text;
  const rows: string[][] = [];
  for (const { cells, text, lineBreak } of csvRecordsIn(body, dialect?.separator ?? ',')) {
    // The last record of what was read may be cut off.
    const whole = lineBreak !== '' || found.complete;
    if (text !== '' && whole) rows.push(cells);
    if (rows.length === most) break;
  }
  return rows;
}
