import { constants, gunzipSync } from 'node:zlib';
import type { FileFormat, OpaqueKind } from '../config/file-formats.ts';
import type { WrongPart } from '../errors.ts';
import { jsonOrUndefined } from '../json.ts';
import { type Csv, csvStart } from './csv-start.ts';
import { hasControls, textStart } from './encoding.ts';
import type { Expected } from './expected-file.ts';
import type { ZipArchive, ZipEntry } from './zip-archive.ts';

/** Recognises the kind of a stored file, and whether it may be the requested export. */

export type Judgement =
  | { result: 'csv'; csv: Csv }
  /** The file is published without checks. */
  | { result: 'opaque'; format: OpaqueKind }
  /** A zip archive; its directory decides the kind. `sheet`: it begins like a spreadsheet. */
  | { result: 'zip'; sheet: boolean }
  /** An Excel 97 workbook, or a document with a password; its directory, which may be at its end, decides the kind. */
  | { result: 'compound' }
  /** The file has no bytes. */
  | { result: 'empty' }
  /** More bytes may prove that the file is acceptable. `description` names the content in words, without quoting it. */
  | { result: 'open'; description: string; part?: WrongPart | undefined }
  | { result: 'refused'; description: string; part?: WrongPart | undefined };

/**
 * Judges a file by its first bytes. For gzip, judges the unpacked content.
 * @param complete whether `first` is the whole file
 */
export function judgeFile(first: Uint8Array, complete: boolean, expected: Expected): Judgement & { gzipped: boolean } {
  if (!isGzip(first)) return { ...judgeContent(first, complete, expected), gzipped: false };
  return { ...judgeGzip(first, complete, expected), gzipped: true };
}

/** The packed bytes that are unpacked to recognise the content of gzip, which may be a thousand times as large. */
const PACKED_BYTES = 16 * 1024;
/** The bytes of the content that are checked to recognise its kind. */
const UNPACKED_BYTES = 64 * 1024;

function judgeGzip(first: Uint8Array, complete: boolean, expected: Expected): Judgement {
  let unpacked: Uint8Array;
  try {
    unpacked = gunzipSync(first.subarray(0, PACKED_BYTES), { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return refused('gzip that cannot be unpacked');
  }
  const isWhole = complete && first.length <= PACKED_BYTES && unpacked.length <= UNPACKED_BYTES;
  if (unpacked.length === 0 && !isWhole) return { result: 'open', description: 'gzip that is too short' };
  if (isGzip(unpacked)) return refused('gzip inside of gzip');
  const judged = judgeContent(unpacked.subarray(0, UNPACKED_BYTES), isWhole, expected);
  return judged.result === 'refused' ? refused(`${judged.description}, compressed with gzip`) : judged;
}

const refused = (description: string): Judgement => ({ result: 'refused', description });

/** Recognises the kind of a file that is not gzip by its first bytes. */
export function judgeContent(first: Uint8Array, complete: boolean, expected: Expected): Judgement {
  if (first.length === 0) return { result: 'empty' };
  const signature = Buffer.from(first.subarray(0, 16)).toString('hex');
  if (/^504b(0304|0506)/.test(signature)) return judgeZip(first, expected);
  if (signature.startsWith(COMPOUND_FILE)) return { result: 'compound' };
  const other = OTHERS.find(([pattern]) => pattern.test(signature));
  return other ? refused(other[1]) : judgeText(first, complete, expected);
}

/** The names of the first entries may show that the archive is an Office document. */
function judgeZip(first: Uint8Array, { formats }: Expected): Judgement {
  const begins = Buffer.from(first.subarray(0, ZIP_BYTES_SEARCHED)).toString('latin1');
  const names = begins.split('PK\x03\x04').map((entry) => entry.slice(LOCAL_HEADER_BYTES));
  if (names.some((name) => /^(word|ppt)\//.test(name))) return refused('a Word or PowerPoint document');
  const sheet = names.some((name) => /^\/?(\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/.test(name));
  if (sheet && !formats.includes('xlsx')) return refused('an Excel spreadsheet');
  return { result: 'zip', sheet };
}

function judgeText(first: Uint8Array, complete: boolean, expected: Expected): Judgement {
  const start = textStart(first);
  const begins = start.text.trimStart();
  // A byte order mark, empty lines and a DOS end-of-file mark are not content.
  if (complete && begins.replaceAll('\x1a', '').trim() === '') return { result: 'empty' };
  const [line = ''] = begins.slice(0, LINE_CHARACTERS_SEARCHED).split(/[\r\n]/, 1);
  if (hasControls(line)) return refused('binary data of an unrecognised kind');
  const csv = expected.formats.includes('csv') ? csvStart(start, complete, expected) : undefined;
  if (csv && !('description' in csv)) return { result: 'csv', csv };
  if (expected.opaque.includes('json') && isJson(start.text, complete)) return { result: 'opaque', format: 'json' };
  if (BEGINNING.test(begins)) return refused('JSON');
  if (begins.startsWith('<')) return refused(WEB_PAGE.test(begins.slice(0, 4096)) ? 'a web page' : 'an XML document');
  if (!csv) return refused('text');
  const { open, description, part } = csv;
  return { result: open ? 'open' : 'refused', description, part };
}

const WEB_PAGE = /<(!doctype\s+html|html|head|body|script)\b/i;

/**
 * The message for a refused file, without its subject. It quotes nothing of the file.
 * @param contentType the declared type; '' = not declared
 */
export function rejection(description: string, contentType: string, formats: readonly FileFormat[]): string {
  const declared = contentType === '' ? 'declared without a media type' : `declared as ${contentType}`;
  return `is not the export: it looks like ${description} (${declared}). files.formats accepts: ${formats.join(', ')}`;
}

/** The beginning of JSON: an object, or a list of values. A sentence in brackets does not match. */
const BEGINNING = /^\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[{["\]]|-?\d|true\b|false\b|null\b|$))/;

/**
 * Whether a text is a JSON document or JSON Lines. A complete text is parsed; otherwise its beginning decides.
 * @param complete whether `text` is the whole file
 */
function isJson(text: string, complete: boolean): boolean {
  if (!BEGINNING.test(text)) return false;
  const parses = (part: string) => jsonOrUndefined(part) !== undefined;
  return !complete || parses(text) || text.split('\n').every((line) => line.trim() === '' || parses(line));
}

/** The bytes that are searched for the entries of a spreadsheet. */
const ZIP_BYTES_SEARCHED = 64 * 1024;
/** Length of the header before an entry of a zip archive, between its signature and its name (APPNOTE.TXT, 4.3.7). */
const LOCAL_HEADER_BYTES = 26;
/** The characters of the first line that are searched for control characters. */
const LINE_CHARACTERS_SEARCHED = 1024;

/** Other kinds of files, by their first bytes in hexadecimal. */
const OTHERS: [signature: RegExp, description: string][] = [
  [/^28b52ffd/, 'data compressed with Zstandard'],
  [/^425a683[1-9]314159265359/, 'data compressed with bzip2'],
  [/^fd377a585a00/, 'data compressed with xz'],
  [/^377abcaf271c/, 'a 7-Zip archive'],
  [/^526172211a07/, 'a RAR archive'],
  [/^78(01|9c|da)/, 'data compressed with zlib'],
  [/^255044462d/, 'a PDF document'],
  [/^5041523115/, 'a Parquet file'],
  [/^89504e47/, 'a PNG image'],
  [/^ffd8ff/, 'a JPEG image'],
];

/** Signature of a compound file: an Excel 97 workbook, or the wrapper of a document with a password (MS-CFB, 2.2). */
const COMPOUND_FILE = 'd0cf11e0a1b11ae1';
/** The stream of a document with a password (MS-OFFCRYPTO, 2.3). */
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage\0', 'utf16le');
/** Entries of the directory of a compound file have this size, and begin with a name (MS-CFB, 2.6.1). */
const DIRECTORY_ENTRY_BYTES = 128;

export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** Judges a compound file by all of its bytes. */
export async function judgeCompound(chunks: AsyncIterable<Uint8Array>, { opaque }: Expected): Promise<Judgement> {
  let [isEncrypted, offset, last] = [false, 0, Buffer.alloc(0)];
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([last, chunk]);
    let at = bytes.indexOf(ENCRYPTED_PACKAGE);
    while (at !== -1 && (offset + at) % DIRECTORY_ENTRY_BYTES > 0) at = bytes.indexOf(ENCRYPTED_PACKAGE, at + 1);
    isEncrypted ||= at !== -1;
    last = bytes.subarray(-ENCRYPTED_PACKAGE.length);
    offset += bytes.length - last.length;
  }
  if (isEncrypted) return refused('a document that is encrypted with a password (let the CRM export it without one)');
  return opaque.includes('xls') ? { result: 'opaque', format: 'xls' } : refused('an Excel 97 spreadsheet');
}

export type ZipKind =
  /** An Office document. Opening it as a workbook decides whether it is one. */
  | { kind: 'office' }
  /** One file. `skipped` counts the entries that an operating system added, `besides` the non-empty ones among them. */
  | { kind: 'one'; entry: ZipEntry; skipped: number; besides: number }
  | { kind: 'several' }
  /** `description` names the content of the archive in words. */
  | { kind: 'other'; description: string };

/** Files that macOS and Windows add when a person packs a file by hand. */
const NOTES = /(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$|^__MACOSX\//i;

/** The kind of an archive, by its directory. */
export function zipKind({ entries }: ZipArchive): ZipKind {
  const names = entries.map(({ name }) => name.toLowerCase());
  if (names.includes('[content_types].xml')) return { kind: 'office' };
  if (names.includes('mimetype') && names.includes('content.xml'))
    return { kind: 'other', description: 'an OpenDocument file' };
  const content = entries.filter(({ name }) => !NOTES.test(name));
  const others = entries.filter(({ name }) => NOTES.test(name));
  const [entry, second] = content;
  if (!entry) return { kind: 'other', description: 'a zip archive without a file' };
  if (second) return { kind: 'several' };
  return { kind: 'one', entry, skipped: others.length, besides: others.filter(({ size }) => size > 0).length };
}
