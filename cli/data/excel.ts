import { setFlagsFromString } from 'node:v8';
import type { Manifest } from '../../core/export/manifest.ts';
import type { Target } from '../support/target.ts';
import { TooMuchForSpreadsheet } from './excel/too-much.ts';
import { workbookOf } from './excel/workbook.ts';
import { failed } from './find.ts';
import { openPart } from './part.ts';
import { recordsOf } from './read-file.ts';

/** Garbage of rows is then collected soon, and a million of them take 200 MB instead of 270. */
const SMALL_YOUNG_GENERATION = '--semi-space-growth-factor=1';

/**
 * Writes the file of a manifest as a workbook. The workbook gets its name only when the whole file was read and proven; else nothing
 * is left.
 * @throws CommandError: 1 where the file cannot be read, is not what its manifest says or is too much for a spreadsheet, 2 when it
 *   cannot be written
 */
export async function downloadForExcel(
  target: Pick<Target, 's3' | 'BucketName'>,
  manifest: Manifest,
  path: string,
  { force, signal }: { force: boolean; signal?: AbortSignal | undefined },
): Promise<void> {
  setFlagsFromString(SMALL_YOUNG_GENERATION);
  // What another attempt left cannot be gone on with.
  const part = await openPart(path, { wholeBytes: 0, force, signal });
  try {
    const records = recordsOf(target, manifest, signal);
    let bytes = 0;
    for await (const chunk of workbookOf(manifest.entity, records)) {
      await part.append(chunk);
      bytes += chunk.length;
    }
    await part.finish(bytes);
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
