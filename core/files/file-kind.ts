import { constants, gunzipSync } from 'node:zlib';
import { type TextStart, textStart } from '../file/encoding.ts';
import { COMPOUND_FILE, isEncryptedPackage } from '../spreadsheet/encrypted-package.ts';

/** What the first bytes say a file is; gzip is unpacked for that. */
export type FileKind = { gzipped: boolean } & (
  | { kind: 'empty' }
  /** `complete`: this is all of it. */
  | { kind: 'text'; start: TextStart; complete: boolean }
  /** A zip archive; what it is, its directory says, at its end. `sheet`: its first entries are those of a spreadsheet, `sure`: or certainly not. */
  | { kind: 'zip'; sheet: boolean; sure: boolean }
  /** A workbook of Excel 97. */
  | { kind: 'xls' }
  /** Gzip of which not enough is there to look into it. */
  | { kind: 'packed' }
  /** `looks` says in words what it is, without anything of its content. */
  | { kind: 'other'; looks: string }
);

/** How much of what gzip holds is unpacked to judge it. */
const UNPACKED_BYTES = 64 * 1024;
/** A few bytes of gzip may hold a thousand times as many. */
const MOST_UNPACKED_BYTES = 2 * 1024 * 1024;
/** Searched for the entries of a spreadsheet. */
const LOOKED_AT_IN_ZIP = 64 * 1024;
/** The length of what stands before an entry of a zip archive, without its name (APPNOTE.TXT, 4.3.7). */
const LOCAL_HEADER_BYTES = 30;
/** How much of the first line is looked at. */
const LOOKED_AT_FOR_CONTROLS = 1024;

/** Other kinds, known by their first bytes in hexadecimal. */
const OTHERS: [signature: RegExp, looks: string][] = [
  [/^28b52ffd/, 'data compressed with Zstandard'],
  [/^425a683[1-9]314159265359/, 'data compressed with bzip2'],
  [/^fd377a585a00/, 'data compressed with xz'],
  [/^377abcaf271c/, 'a 7-Zip archive'],
  [/^526172211a07/, 'a RAR archive'],
  [/^04224d18/, 'data compressed with LZ4'],
  [/^1f(9d|a0)/, 'data compressed with compress'],
  [/^78(01|9c|da)/, 'data compressed with zlib'],
  [/^255044462d/, 'a PDF document'],
  [/^5041523115/, 'a Parquet file'],
  [/^89504e47/, 'a PNG image'],
  [/^ffd8ff/, 'a JPEG image'],
];

const ENCRYPTED = 'a document that is encrypted with a password (let the CRM export it without one)';

/** @param complete whether these are all */
export function kindOf(first: Uint8Array, complete: boolean): FileKind {
  if (!isGzip(first)) return { ...plainKind(first, complete), gzipped: false };
  const unpacked = unpack(first);
  if (!unpacked) return { kind: 'other', looks: 'gzip that cannot be unpacked', gzipped: true };
  if (unpacked.length === 0) return { kind: complete ? 'empty' : 'packed', gzipped: true };
  if (isGzip(unpacked)) return { kind: 'other', looks: 'gzip inside of gzip', gzipped: true };
  return { ...plainKind(unpacked, complete && unpacked.length < UNPACKED_BYTES), gzipped: true };
}

type PlainKind = FileKind extends infer K ? (K extends FileKind ? Omit<K, 'gzipped'> : never) : never;

function plainKind(first: Uint8Array, complete: boolean): PlainKind {
  if (first.length === 0) return { kind: 'empty' };
  const signature = Buffer.from(first.subarray(0, 16)).toString('hex');
  if (/^504b(0304|0506)/.test(signature)) return archiveKind(first, complete);
  if (signature.startsWith(COMPOUND_FILE)) {
    return isEncryptedPackage(first) ? { kind: 'other', looks: ENCRYPTED } : { kind: 'xls' };
  }
  const other = OTHERS.find(([pattern]) => pattern.test(signature));
  if (other) return { kind: 'other', looks: other[1] };
  const start = textStart(first);
  const [line = ''] = start.text
    .slice(0, LOOKED_AT_FOR_CONTROLS)
    .trimStart()
    .split(/[\r\n]/, 1);
  if (hasControls(line)) return { kind: 'other', looks: 'binary data of a kind that is not known' };
  return { kind: 'text', start, complete };
}

export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** Tells whether a text has control characters other than tabs, line breaks and the end mark of DOS. */
export function hasControls(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d && code !== 0x1a) return true;
  }
  return false;
}

/** A spreadsheet is a zip archive whose first entries have its names. */
function archiveKind(first: Uint8Array, complete: boolean): PlainKind {
  const bytes = Buffer.from(first.buffer, first.byteOffset, first.byteLength);
  if (bytes.readUInt16LE(2) === 0x0605) return { kind: 'other', looks: 'a zip archive without a file' };
  if (bytes.length >= LOCAL_HEADER_BYTES && (bytes[4] ?? 0) > NEWEST_ZIP)
    return { kind: 'other', looks: 'what begins like a zip archive and is none' };
  const names = entryNames(first.subarray(0, LOOKED_AT_IN_ZIP));
  if (names.some((name) => /^(word|ppt)\//.test(name)))
    return { kind: 'other', looks: 'a document of Word or PowerPoint' };
  const sheet = names.some((name) => name === '[Content_Types].xml' || name.startsWith('xl/'));
  return { kind: 'zip', sheet, sure: sheet || complete };
}

/** Highest version of the format that an entry may need (APPNOTE.TXT, 4.4.3.2: 6.3). */
const NEWEST_ZIP = 63;

/** The names in the local headers of a zip archive (APPNOTE.TXT, 4.3.7), as far as its first bytes go. */
function entryNames(bytes: Uint8Array): string[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const names: string[] = [];
  let at = 0;
  while (at !== -1 && at + LOCAL_HEADER_BYTES <= buffer.length) {
    const from = at + LOCAL_HEADER_BYTES;
    names.push(buffer.toString('latin1', from, from + buffer.readUInt16LE(at + 26)));
    at = buffer.indexOf('504b0304', at + 4, 'hex');
  }
  return names;
}

/** The beginning of what gzip holds; `undefined` where it cannot be unpacked. */
function unpack(packed: Uint8Array): Uint8Array | undefined {
  let unpacked: Uint8Array | undefined;
  for (let bytes = 1024; ; bytes *= 2) {
    try {
      const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_UNPACKED_BYTES };
      unpacked = gunzipSync(packed.subarray(0, bytes), options);
    } catch {
      // Keep what was unpacked before, if anything.
      break;
    }
    if (unpacked.length >= UNPACKED_BYTES || bytes >= packed.length) break;
  }
  return unpacked?.subarray(0, UNPACKED_BYTES);
}
