import { type FieldIndex, fieldIndex, type ListedFields } from '../columns/header.ts';
import type { FileFormat, OpaqueKind } from '../config/file-formats.ts';
import { type Csv, csvStart } from '../file/csv-start.ts';
import { isWide, type TextStart } from '../file/encoding.ts';
import { type FileKind, kindOf } from './file-kind.ts';

/** What a deployment accepts, and what was requested. */
export interface Expected extends ListedFields {
  formats: readonly FileFormat[];
  /** Kinds that are published unjudged. */
  opaque: readonly OpaqueKind[];
  /** Files have no header: they are judged by their width. */
  headerless: boolean;
  /** Columns that tables hash or leave out, as the settings name them. */
  covered?: readonly string[];
  /** The sheet of a workbook that is read (`columns.sheet`). */
  sheet?: string | undefined;
  /** Sheets that may be there besides (`columns.otherSheets`). */
  otherSheets?: readonly string[] | undefined;
}

/** `gzipped`: it was looked at inside of gzip. */
export type Judgement = { gzipped: boolean } & (
  | { result: 'csv'; csv: Csv }
  /** The file is published unjudged. */
  | { result: 'opaque'; format: OpaqueKind }
  /** A zip archive, which seems to be a spreadsheet or another one (`sure`: it is): its directory decides. */
  | { result: 'zip'; sheet: boolean; sure: boolean }
  /** The file has no bytes, or is gzip that holds none. */
  | { result: 'empty' }
  /** The beginning of the file neither proves nor disproves that it is what it seems. */
  | { result: 'open'; format: 'csv' | null }
  /** `looks` says in words what it is, without anything of its content. */
  | { result: 'refused'; looks: string }
);
type Kind = Judgement extends infer J ? (J extends Judgement ? Omit<J, 'gzipped'> : never) : never;

/** @param complete whether `first` is all of the file */
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
      return { result: 'open', format: null };
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
  if (csv?.result === 'open') return { result: 'open', format: 'csv' };
  const begins = start.text.trimStart();
  if (/^[[{]/.test(begins)) return { result: 'refused', looks: 'JSON' };
  if (begins.startsWith('<')) return { result: 'refused', looks: markupOf(begins) };
  return { result: 'refused', looks: csv ? textOf(csv, index) : 'text' };
}

function markupOf(begins: string): string {
  return /<(!doctype\s+html|html|head|body|script)\b/i.test(begins.slice(0, 4096)) ? 'a web page' : 'an XML document';
}

function textOf({ fields, listed }: { fields: number; listed: number }, { width }: FieldIndex): string {
  if (fields === 0) return 'text without a single record';
  const many = fields === 1 ? 'one field' : `${fields} fields`;
  return `text whose first record has ${many}, ${listed} of them listed by the CRM; ${width} were requested`;
}

/** A sentence without any of the content. @param contentType as declared; '' = not at all */
export function rejection(what: string, looks: string, contentType: string, formats: readonly FileFormat[]): string {
  const declared = contentType === '' ? 'declared as nothing' : `declared as ${contentType}`;
  return `${what} is not the export: it looks like ${looks} (${declared}). Accepted is what files.formats names: ${formats.join(', ')}.`;
}

/** What JSON begins with: an object, or a list of values; a sentence in brackets is none. */
const BEGINNING = /^\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[{["\]]|-?\d|true\b|false\b|null\b|$))/;

/**
 * Whether a text is a JSON document, or JSON Lines, by its beginning; where all of it is there, by all of it.
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
