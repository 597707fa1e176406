import { RunError } from '../errors.ts';
import { CSV } from './read-csv.ts';
import { readUpdateBlocks } from './read-updates.ts';
import { isProblem } from './record-check.ts';

/**
 * Turns a validated CSV file of updates into JSON Lines. A record stays on the line on which it began in the CSV: empty lines
 * stand for the header and for further lines of a record.
 * @throws RunError `FileRejected` when the CSV is not valid: validate it first.
 */
export async function* csvToJsonl(csv: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let line = 1;
  for await (const { entries } of readUpdateBlocks(CSV, csv, { allowNull: true })) {
    let text = '';
    for (const entry of entries) {
      if (isProblem(entry)) {
        throw new RunError(
          'FileRejected',
          `Line ${entry.line} of the CSV file is not valid; it was when the file was checked.`,
        );
      }
      text += `${'\n'.repeat(entry.line - line)}${JSON.stringify(entry.record)}\n`;
      line = entry.line + 1;
    }
    if (text !== '') yield Buffer.from(text);
  }
}
