import { TooMuchForSpreadsheet } from './too-much.ts';

/**
 * What a spreadsheet runs: = + - @, also in their wide forms, where a field begins (https://owasp.org/www-community/attacks/CSV_Injection).
 * Which character begins a field is a setting of the reader's country, and a program that splits by another one than the file's
 * takes no notice of its quotation marks either: so anything but a letter, a digit, a blank and these four may stand before a field.
 */
const RUN_IN_A_FIELD = /(?=[=+\-@＝＋－＠])(?<=(?:^|[^\p{L}\p{M}\p{N} =+\-@])\s*)/gu;
/** Programs leave these out where a cell begins, and look at what follows. */
const LEFT_OUT_AT_THE_START = /^[\t\r\n]/;
const BYTE_ORDER_MARK = '\ufeff';
const WRITTEN_AT_ONCE = 64 * 1024;

export interface CsvWritten {
  /** Cells that got an apostrophe. */
  apostrophes: number;
}

/**
 * CSV for a spreadsheet, as its bytes come: UTF-8 with byte order mark, every cell in quotation marks, an apostrophe before what a
 * spreadsheet would run.
 * @param written is added to
 * @throws TooMuchForSpreadsheet where it becomes more than so many bytes; what `records` throws
 */
export async function* csvOf(
  records: AsyncIterable<string[]>,
  { separator, mostBytes }: { separator: string; mostBytes: number },
  written: CsvWritten,
): AsyncGenerator<Uint8Array> {
  let text = BYTE_ORDER_MARK;
  let bytes = 0;
  const taken = () => {
    const chunk = Buffer.from(text);
    bytes += chunk.length;
    text = '';
    if (bytes <= mostBytes) return chunk;
    const most = `${Math.floor(mostBytes / 1_000_000).toLocaleString('en-US')} MB`;
    throw new TooMuchForSpreadsheet(`unpacked, they are more than ${most} of CSV`);
  };
  for await (const record of records) {
    const cells = record.map(harmless);
    written.apostrophes += cells.filter((cell, place) => cell !== record[place]).length;
    text += `${cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(separator)}\r\n`;
    if (text.length >= WRITTEN_AT_ONCE) yield taken();
  }
  yield taken();
}

function harmless(cell: string): string {
  const text = cell.replace(RUN_IN_A_FIELD, "'");
  return LEFT_OUT_AT_THE_START.test(text) ? `'${text}` : text;
}
