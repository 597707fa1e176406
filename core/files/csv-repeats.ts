import type { Scan } from '../step/scan.ts';
import { csvRecordsIn } from './csv-records-in.ts';

/** The first record of a CSV file, as others of its records are compared with it: by their fields, whatever is quoted. */
export interface FirstRecord {
  /** The characters of the record, as the bytes of the file; `SEPARATOR` between its fields. */
  symbols: Uint16Array;
  /**
   * What the kernel compares: eight bytes of the record's beginning, and which of their bits count; then both for the
   * record in quotation marks.
   */
  begins: Uint8Array;
}

const SEPARATOR = 256;
const QUOTE = 0x22;
/** The kernel compares so many bytes. */
const COMPARED = 8;

/** @param text bytes as characters (latin1), from the first record on */
export function firstRecordOf(text: string, separator: string): FirstRecord | null {
  for (const { cells, text: line } of csvRecordsIn(text, separator)) {
    // Empty lines, and those of nothing but the end mark of DOS, are none.
    if (line.replaceAll('\x1a', '') === '') continue;
    const symbols = cells.flatMap((cell, place) => [
      ...(place > 0 ? [SEPARATOR] : []),
      ...[...cell].map((character) => character.charCodeAt(0)),
    ]);
    const [cell = ''] = cells;
    const behind = cells.length > 1 ? separator : '';
    const quoted = `"${cell.replaceAll('"', '""')}"${behind}`;
    return { symbols: Uint16Array.from(symbols), begins: Buffer.concat([cell + behind, quoted].map(compared)) };
  }
  return null;
}

/** The beginning of a text, and where it has bytes. */
function compared(text: string): Buffer {
  const bytes = Buffer.from(text.slice(0, COMPARED), 'latin1');
  const both = Buffer.alloc(2 * COMPARED);
  both.set(bytes);
  both.fill(0xff, COMPARED, COMPARED + bytes.length);
  return both;
}

/** Characters of the current record: whether it still repeats the first one. */
export function repeatBytes(scan: Scan, chunk: Uint8Array, from: number, to: number, first?: FirstRecord | null): void {
  for (let at = from; at < to && scan.repeats >= 0; at += 1) repeatSymbol(scan, chunk[at] ?? 0, first);
}

/** The end of a field of it. */
export function repeatSeparator(scan: Scan, first?: FirstRecord | null): void {
  if (scan.repeats >= 0) repeatSymbol(scan, SEPARATOR, first);
}

/** `""` begins it: what follows can only be the end of the field, or a quotation mark as its first character. */
export function repeatEmptyQuotes(scan: Scan, first?: FirstRecord | null): void {
  const [begins] = first?.symbols ?? [];
  if (begins !== undefined && begins !== SEPARATOR && begins !== QUOTE) scan.repeats = -1;
}

function repeatSymbol(scan: Scan, symbol: number, first?: FirstRecord | null): void {
  scan.repeats = first?.symbols[scan.repeats] === symbol ? scan.repeats + 1 : -1;
}
