import type { Manifest } from '../../core/export/manifest.ts';
import { csvRecordsIn } from '../../core/files/csv-records-in.ts';
import { kindOf } from '../../core/files/file-kind.ts';
import type { Target } from '../support/target.ts';
import { refuseOtherThanCsv } from './csv-file.ts';
import { failed } from './find.ts';
import { firstBytes, storedFile } from './object.ts';

/** Enough for ten rows with all columns of an entity. */
const FIRST_BYTES = 64 * 1024;
/** A first line that only names the separator. */
const SEPARATOR_LINE = /^.*(?:\r\n|\n|\r)/;

/**
 * Reads the first rows of a CSV file, without its header, from its first 64 KiB.
 * @returns fewer where these do not hold as many
 * @throws CommandError (exit code 1) where the file is no CSV file, or is gone
 */
export async function firstRows(
  target: Pick<Target, 's3' | 'BucketName'>,
  manifest: Manifest,
  most: number,
): Promise<string[][]> {
  refuseOtherThanCsv(manifest);
  const file = await storedFile(target, manifest);
  const found = kindOf(await firstBytes(target, file, FIRST_BYTES), file.bytes <= FIRST_BYTES);
  if (found.kind === 'empty') return [];
  if (found.kind !== 'text') throw failed(`The file ${file.key} does not begin as a CSV file does: download gets it.`);
  const { dialect, header } = manifest.file;
  const body = dialect?.separatorLine ? found.start.text.replace(SEPARATOR_LINE, '') : found.start.text;
  const rows: string[][] = [];
  for (const { cells, text, lineBreak } of csvRecordsIn(body, dialect?.separator ?? ',')) {
    // The last record of what was read may be cut off.
    const whole = lineBreak !== '' || found.complete;
    if (text !== '' && whole) rows.push(cells);
    if (rows.length > most) break;
  }
  return header === null ? rows.slice(0, most) : rows.slice(1, most + 1);
}
