import { setFlagsFromString } from 'node:v8';
import type { Manifest } from '../../core/export/manifest.ts';
import type { Target } from '../support/target.ts';
import { type CsvWritten, csvOf } from './excel/csv.ts';
import { TooMuchForSpreadsheet } from './excel/too-much.ts';
import { workbookOf } from './excel/workbook.ts';
import { failed } from './find.ts';
import { openPart } from './part.ts';
import { recordsOf } from './read-file.ts';

/** A workbook, or CSV for programs that take no workbook. */
export type ExcelForm = 'xlsx' | 'csv';

/** Garbage of rows is then collected soon, and a million of them take 200 MB instead of 270. */
const SMALL_YOUNG_GENERATION = '--semi-space-growth-factor=1';
/** A packed export may become so many times its size as CSV; a small one as many bytes. */
const MOST_TIMES = 100;
const ALWAYS_BYTES = 100_000_000;

/**
 * Writes the file of a manifest for a spreadsheet. It gets its name only when the whole file was read and proven; else nothing is
 * left.
 * @returns how many cells of CSV got an apostrophe
 * @throws CommandError: 1 where the file cannot be read, is not what its manifest says or is too much for a spreadsheet, 2 when it
 *   cannot be written
 */
export async function downloadForExcel(
  target: Pick<Target, 's3' | 'BucketName'>,
  manifest: Manifest,
  path: string,
  { form, force, signal }: { form: ExcelForm; force: boolean; signal?: AbortSignal | undefined },
): Promise<CsvWritten> {
  setFlagsFromString(SMALL_YOUNG_GENERATION);
  // What another attempt left cannot be gone on with.
  const part = await openPart(path, { wholeBytes: 0, force, signal });
  const written = { apostrophes: 0 };
  try {
    const records = recordsOf(target, manifest, signal);
    const { dialect, bytes: packed } = manifest.file;
    const csv = { separator: dialect?.separator ?? ',', mostBytes: Math.max(ALWAYS_BYTES, packed * MOST_TIMES) };
    let bytes = 0;
    for await (const chunk of form === 'xlsx' ? workbookOf(manifest.entity, records) : csvOf(records, csv, written)) {
      await part.append(chunk);
      bytes += chunk.length;
    }
    await part.finish(bytes);
    return written;
  } catch (error) {
    await part.discard();
    throw error instanceof TooMuchForSpreadsheet ? failed(tooMuchText(manifest, error), error) : error;
  } finally {
    await part.close();
  }
}

function tooMuchText({ entity, date }: Manifest, { name, message }: TooMuchForSpreadsheet): string {
  return `${name}: the ${entity} of ${date} are too much for a spreadsheet: ${message}. download gets the file as it is.`;
}
