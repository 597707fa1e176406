import { constants, gunzipSync } from 'node:zlib';
import { type FieldIndex, fieldIndex, type ListedFields, listedFields } from '../columns/header.ts';
import { isHeaderless, labelsOf, sheetsOf } from '../config/chosen-columns.ts';
import type { Deployment } from '../config/deployment.ts';
import type { FileFormat, OpaqueKind } from '../config/file-formats.ts';
import { mainType, partName } from '../spreadsheet/workbook.ts';
import type { Run } from '../step/states.ts';
import { type Csv, csvStart } from './csv-start.ts';
import { hasControls, isWide, type TextStart, textStart } from './encoding.ts';
import type { ZipArchive, ZipEntry } from './zip-archive.ts';

/** Recognises the kind of a stored file, and whether it may be the requested export. */

/** The request, and the kinds of files that the deployment accepts. */
export interface Expected extends ListedFields {
  formats: readonly FileFormat[];
  /** Kinds that are published without checks. */
  opaque: readonly OpaqueKind[];
  /** Files have no header. They are recognised by their width. */
  headerless: boolean;
  /** Columns that tables hash or leave out, as the settings name them. */
  covered?: readonly string[];
  /** The sheet to read in a workbook (`columns.sheet`). */
  sheet?: string | undefined;
  /** Other sheets that a workbook may have (`columns.otherSheets`). */
  otherSheets?: readonly string[] | undefined;
}

/** What today's settings accept as the file of a run. */
export function expectedOf(
  run: Pick<Run, 'entity' | 'request' | 'listed' | 'excepted'>,
  deployment: Deployment,
): Expected {
  const plan = deployment.entities[run.entity];
  const { formats } = deployment.files;
  const covered = [...(plan.tables?.hash ?? []), ...(plan.tables?.except ?? [])];
  const listed = listedFields(run, labelsOf(plan));
  return { ...listed, formats, opaque: plan.opaque, headerless: isHeaderless(plan), covered, ...sheetsOf(plan) };
}

/** How to read a file. */
export interface Reading {
  expected: Expected;
  /** The name of the file in messages: `The file at runs/…`. */
  what: string;
  /** The declared media type; '' = none was declared. */
  contentType: string;
  /** The most bytes that the content may have, unpacked (`files.maxBytes`). */
  maxBytes: number;
  /** Seconds until reading must end. */
  secondsLeft: () => number;
  /** Only the closing of the connection marked the end of the file: its content must prove it complete. */
  undeclaredEnd: boolean;
}

/** `gzipped`: the file is gzip, and the judgement is about its content. */
export type Judgement = { gzipped: boolean } & (
  | { result: 'csv'; csv: Csv }
  /** The file is published without checks. */
  | { result: 'opaque'; format: OpaqueKind }
  /** A zip archive that may be a spreadsheet; its directory decides. `sure`: `sheet` is certain. */
  | { result: 'zip'; sheet: boolean; sure: boolean }
  /** The file has no bytes, or is gzip without content. */
  | { result: 'empty' }
  /** The beginning of the file does not show that it is acceptable. More of the file may show it. */
  | { result: 'open'; format: 'csv' | null; looks: string }
  /** `looks` describes the file in words, without quoting it. */
  | { result: 'refused'; looks: string }
);
type Kind = Judgement extends infer J ? (J extends Judgement ? Omit<J, 'gzipped'> : never) : never;

/** @param complete whether `first` is the whole file */
export function judgeFile(first: Uint8Array, complete: boolean, expected: Expected): Judgement {
  const kind = kindOf(first, complete);
  const { gzipped } = kind;
  const judged = judgeKind(kind, expected);
  if (judged.result !== 'refused' || !gzipped || judged.looks.startsWith('gzip')) return { ...judged, gzipped };
  return { ...judged, looks: `${judged.looks}, compressed with gzip`, gzipped };
}

function judgeKind(kind: FileKind, expected: Expected): Kind {
  const { formats, opaque } = expected;
  switch (kind.kind) {
    case 'empty':
      return { result: 'empty' };
    case 'packed':
      return { result: 'open', format: null, looks: 'gzip with too few bytes' };
    case 'other':
      return { result: 'refused', looks: kind.looks };
    case 'xls':
      return opaque.includes('xls')
        ? { result: 'opaque', format: 'xls' }
        : { result: 'refused', looks: 'a spreadsheet of Excel 97' };
    case 'zip':
      return kind.sheet && !formats.includes('xlsx')
        ? { result: 'refused', looks: 'a spreadsheet of Excel' }
        : { result: 'zip', sheet: kind.sheet, sure: kind.sure };
    case 'text':
      return judgeText(kind, expected);
  }
}

function judgeText(
  { start, complete }: { start: TextStart; complete: boolean },
  { formats, opaque, headerless, ...listed }: Expected,
): Kind {
  const index = fieldIndex(listed);
  const csv = formats.includes('csv') ? csvStart(start.text, complete, index, headerless) : undefined;
  if (csv?.result === 'accepted') {
    const { encoding, decoder, markBytes } = start;
    const skip = markBytes + csv.csv.separatorLine * (isWide(encoding) ? 2 : 1);
    return { result: 'csv', csv: { ...csv.csv, encoding, decoder, skip, byteOrderMark: markBytes > 0 } };
  }
  if (opaque.includes('json') && isJson(start.text, complete)) return { result: 'opaque', format: 'json' };
  const begins = start.text.trimStart();
  if (/^[[{]/.test(begins)) return { result: 'refused', looks: 'JSON' };
  if (begins.startsWith('<')) return { result: 'refused', looks: markupOf(begins) };
  if (!csv) return { result: 'refused', looks: 'text' };
  const looks = textOf(csv, index);
  return csv.open ? { result: 'open', format: 'csv', looks } : { result: 'refused', looks };
}

function markupOf(begins: string): string {
  return /<(!doctype\s+html|html|head|body|script)\b/i.test(begins.slice(0, 4096)) ? 'a web page' : 'an XML document';
}

function textOf(
  { open, fields, listed }: { open: boolean; fields: number; listed: number },
  { width }: FieldIndex,
): string {
  if (fields === 0) return open ? 'text whose first record never ends' : 'text without a single record';
  const many = fields === 1 ? 'one field' : `${fields} fields`;
  return `text whose first record has ${many}, ${listed} of them listed by the CRM; ${width} were requested`;
}

/** A sentence that quotes nothing of the file. @param contentType the declared type; '' = not declared */
export function rejection(what: string, looks: string, contentType: string, formats: readonly FileFormat[]): string {
  const declared = contentType === '' ? 'declared as nothing' : `declared as ${contentType}`;
  return `${what} is not the export: it looks like ${looks} (${declared}). Accepted is what files.formats names: ${formats.join(', ')}.`;
}

/** The beginning of JSON: an object, or a list of values. A sentence in brackets does not match. */
const BEGINNING = /^\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[{["\]]|-?\d|true\b|false\b|null\b|$))/;

/**
 * Whether a text is a JSON document or JSON Lines. A complete text is parsed; otherwise its beginning decides.
 * @param complete whether `text` is the whole file
 */
function isJson(text: string, complete: boolean): boolean {
  if (!BEGINNING.test(text)) return false;
  return !complete || parses(text) || text.split('\n').every((line) => line.trim() === '' || parses(line));
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The kind of a file by its first bytes. Gzip is unpacked first. */
type FileKind = { gzipped: boolean } & (
  | { kind: 'empty' }
  /** `complete`: `start` contains the whole file. */
  | { kind: 'text'; start: TextStart; complete: boolean }
  /** A zip archive. `sheet`: its first entries are those of a spreadsheet. `sure`: `sheet` is certain. */
  | { kind: 'zip'; sheet: boolean; sure: boolean }
  /** A workbook of Excel 97. */
  | { kind: 'xls' }
  /** Gzip with too few bytes to see its content. */
  | { kind: 'packed' }
  /** `looks` describes the file in words, without quoting it. */
  | { kind: 'other'; looks: string }
);

/** How much of the content of gzip is unpacked to recognise it. */
const UNPACKED_BYTES = 64 * 1024;
/** Limits unpacking: gzip may expand a thousand times. */
const MOST_UNPACKED_BYTES = 2 * 1024 * 1024;
/** The bytes that are searched for the entries of a spreadsheet. */
const LOOKED_AT_IN_ZIP = 64 * 1024;
/** Length of the header before an entry of a zip archive, without its name (APPNOTE.TXT, 4.3.7). */
const LOCAL_HEADER_BYTES = 30;
/** How much of the first line is searched for control characters. */
const LOOKED_AT_FOR_CONTROLS = 1024;

/** Other kinds of files, by their first bytes in hexadecimal. */
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

/** Signature of a compound file: an Excel 97 workbook, or the wrapper of a document with a password (MS-CFB, 2.2). */
const COMPOUND_FILE = 'd0cf11e0a1b11ae1';
/** The stream of a document with a password (MS-OFFCRYPTO, 2.3). */
const ENCRYPTED_PACKAGE = Buffer.from('EncryptedPackage\0', 'utf16le');
/** Entries of the directory of a compound file have this size, and begin with a name (MS-CFB, 2.6.1). */
const DIRECTORY_ENTRY_BYTES = 128;
const ENCRYPTED = 'a document that is encrypted with a password (let the CRM export it without one)';

/** @param complete whether `first` is the whole file */
function kindOf(first: Uint8Array, complete: boolean): FileKind {
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

function isEncryptedPackage(first: Uint8Array): boolean {
  const bytes = Buffer.from(first.buffer, first.byteOffset, first.byteLength);
  let at = bytes.indexOf(ENCRYPTED_PACKAGE);
  while (at % DIRECTORY_ENTRY_BYTES > 0) at = bytes.indexOf(ENCRYPTED_PACKAGE, at + 1);
  return at !== -1;
}

/** Recognises a spreadsheet by the names of the first entries of a zip archive. */
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

/** The beginning of the content of gzip; `undefined` if it cannot be unpacked. */
function unpack(packed: Uint8Array): Uint8Array | undefined {
  let unpacked: Uint8Array | undefined;
  for (let bytes = 1024; ; bytes *= 2) {
    try {
      const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_UNPACKED_BYTES };
      unpacked = gunzipSync(packed.subarray(0, bytes), options);
    } catch {
      // Keeps what the last attempt unpacked.
      break;
    }
    if (unpacked.length >= UNPACKED_BYTES || bytes >= packed.length) break;
  }
  return unpacked?.subarray(0, UNPACKED_BYTES);
}

export type ZipKind =
  | { kind: 'xlsx' }
  /** One file, and `passedOver` other entries, notes of an operating system: `besides` of them are not empty. */
  | { kind: 'one'; entry: ZipEntry; passedOver: number; besides: number }
  | { kind: 'several' }
  /** `looks` describes the content of the archive in words. */
  | { kind: 'other'; looks: string };

/** Files that macOS and Windows add when a person packs a file by hand. */
const NOTES = /(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$|^\/?__MACOSX\//i;

/** The kind of an archive, by its directory and the main part of a package. @throws any error from reading a part */
export async function zipKind(archive: ZipArchive): Promise<ZipKind> {
  const { entries } = archive;
  const names = entries.map(({ name }) => partName(name).toLowerCase());
  if (names.includes('[content_types].xml')) return packageKind(archive);
  if (names.includes('mimetype') && names.includes('content.xml'))
    return { kind: 'other', looks: 'a document of OpenDocument' };
  const content = entries.filter(({ name }) => !NOTES.test(name));
  const others = entries.filter(({ name }) => NOTES.test(name));
  const [entry, second] = content;
  if (!entry) return { kind: 'other', looks: 'a zip archive without a file' };
  if (second) return { kind: 'several' };
  return { kind: 'one', entry, passedOver: others.length, besides: others.filter(({ size }) => size > 0).length };
}

/** Kinds of other documents, by a part of the media type of their main part. */
const DOCUMENTS: [type: RegExp, looks: string][] = [
  [/sheet\.binary/, 'a binary workbook of Excel (xlsb)'],
  [/wordprocessingml|presentationml|ms-word|ms-powerpoint/, 'a document of Word or PowerPoint'],
];

/** The kind of an Office package. */
async function packageKind(archive: ZipArchive): Promise<ZipKind> {
  const type = await mainType(archive);
  const looks = DOCUMENTS.find(([known]) => known.test(type ?? ''))?.[1];
  if (looks !== undefined) return { kind: 'other', looks };
  // A main part without a specific type may be a workbook: reading it decides.
  return { kind: type !== undefined && /spreadsheetml|ms-excel|^$|\bxml$/.test(type) ? 'xlsx' : 'several' };
}
