import type { Problem } from './problems.ts';

export type UpdateFormat = 'csv' | 'jsonl';

const EXTENSIONS: Record<string, UpdateFormat> = { '.csv': 'csv', '.jsonl': 'jsonl', '.ndjson': 'jsonl' };

/** The format that a file's name promises, or what is wrong with the name. */
export function formatOf(name: string): UpdateFormat | Problem {
  const extension = /\.[^.\\/]*$/.exec(name)?.[0].toLowerCase() ?? '';
  const format = Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined;
  if (format) return format;
  const known = Object.keys(EXTENSIONS).join(', ');
  return { line: 0, field: null, sentence: `must have a name that ends in one of ${known}` };
}

/** What the first bytes of other formats are. */
const OTHERS: [magic: number[], what: string][] = [
  [[0xff, 0xfe], 'is UTF-16: save it as UTF-8'],
  [[0xfe, 0xff], 'is UTF-16: save it as UTF-8'],
  [[0x50, 0x4b, 0x03, 0x04], 'is a ZIP archive or an Excel workbook: save the sheet as CSV (UTF-8)'],
  [[0xd0, 0xcf, 0x11, 0xe0], 'is an old Excel workbook: save the sheet as CSV (UTF-8)'],
  [[0x1f, 0x8b], 'is compressed (gzip): unpack it first'],
  [[0x25, 0x50, 0x44, 0x46], 'is a PDF'],
];

/** Why a file that begins with these bytes (32 KiB, if it has as many) cannot be read at all, or `undefined`. */
export function refusalAtSight(format: UpdateFormat, first: Uint8Array): string | undefined {
  const other = OTHERS.find(([magic]) => magic.every((byte, index) => first[index] === byte))?.[1];
  if (other) return other;
  if (first.includes(0)) return looksLikeUtf16(first) ? 'is UTF-16: save it as UTF-8' : 'is a binary file, not text';
  const begins = Buffer.from(first.subarray(0, 200))
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart();
  if (format === 'csv' && /^[{[]/.test(begins)) return 'holds JSON: JSON Lines need a name that ends in .jsonl';
  const header = format === 'jsonl' && /^"?[A-Za-z]\w*"?,/.test(begins);
  return header ? 'holds CSV: its name has to end in .csv' : undefined;
}

/**
 * Finds UTF-16 without a byte order mark: nearly every other byte of Latin text is zero, and of commas and digits in
 * any language.
 */
function looksLikeUtf16(bytes: Uint8Array): boolean {
  const zeros = [0, 0];
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  return Math.max(even, odd) > 10 * Math.min(even, odd) && Math.max(even, odd) > bytes.length / 8;
}
