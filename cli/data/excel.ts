import type { Manifest } from '../../core/export/manifest.ts';
import type { Target } from '../support/target.ts';
import { openPart } from './part.ts';
import { recordsOf } from './read-file.ts';

/** What a spreadsheet runs, or takes for something else than text: https://owasp.org/www-community/attacks/CSV_Injection. */
const RUN_BY_SPREADSHEETS = /^[=+\-@\t\r\n＝＋－＠]/;
const BYTE_ORDER_MARK = '\ufeff';
const WRITTEN_AT_ONCE = 64 * 1024;

/**
 * Writes the file of a manifest as CSV for a spreadsheet: UTF-8 with byte order mark, every cell in quotation marks, an apostrophe
 * before what a spreadsheet would run. It gets its name only when the whole file was read and proven; else nothing is left.
 * @returns how many cells got an apostrophe
 * @throws CommandError: 1 where the file cannot be read or is not what its manifest says, 2 when it cannot be written
 */
export async function downloadForExcel(
  target: Pick<Target, 's3' | 'BucketName'>,
  manifest: Manifest,
  path: string,
  { force, signal }: { force: boolean; signal?: AbortSignal | undefined },
): Promise<{ apostrophes: number }> {
  // What another attempt left cannot be gone on with.
  const part = await openPart(path, { wholeBytes: 0, force, signal });
  try {
    let text = BYTE_ORDER_MARK;
    let bytes = 0;
    let apostrophes = 0;
    const write = async () => {
      const chunk = Buffer.from(text);
      await part.append(chunk);
      bytes += chunk.length;
      text = '';
    };
    for await (const record of recordsOf(target, manifest, signal)) {
      apostrophes += record.filter((cell) => RUN_BY_SPREADSHEETS.test(cell)).length;
      text += lineFor(record, manifest.file.dialect?.separator ?? ',');
      if (text.length >= WRITTEN_AT_ONCE) await write();
    }
    await write();
    await part.finish(bytes);
    return { apostrophes };
  } catch (error) {
    await part.discard();
    throw error;
  } finally {
    await part.close();
  }
}

/** Quotation marks around every cell: no separator in it begins another one, whatever the country of the spreadsheet. */
function lineFor(record: string[], separator: string): string {
  const cells = record.map((cell) => `"${harmless(cell).replaceAll('"', '""')}"`);
  return `${cells.join(separator)}\r\n`;
}

function harmless(cell: string): string {
  return RUN_BY_SPREADSHEETS.test(cell) ? `'${cell}` : cell;
}
