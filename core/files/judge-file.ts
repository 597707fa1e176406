import type { FileFormat } from '../config/file-formats.ts';
import { type CsvStart, csvStart } from './csv-start.ts';
import { type FieldIndex, fieldIndex, type ListedFields } from './field-names.ts';
import { kindOf } from './file-kind.ts';
import { provesJson } from './json-start.ts';
import type { Encoding, TextStart } from './text-start.ts';

/** What a deployment accepts, and what was requested. */
export interface Expected extends ListedFields {
  formats: readonly FileFormat[];
}

/** A CSV file as its beginning shows it. */
export interface Csv extends CsvStart {
  encoding: Encoding | null;
  /** Bytes before the first record: a byte order mark, a line that names the separator. */
  skip: number;
  byteOrderMark: boolean;
}

export type Judgement =
  /** `format` is that inside of gzip. */
  | { result: 'accepted'; format: FileFormat; gzipped: boolean; csv: Csv | null }
  /** It has no bytes, or is gzip that holds none. */
  | { result: 'empty'; gzipped: boolean }
  /** Its beginning neither proves nor disproves it. */
  | { result: 'open'; format: FileFormat | null; gzipped: boolean }
  /** In words, without anything of its content. */
  | { result: 'refused'; looks: string };

/** @param complete whether `first` is all of the file */
export function judgeFile(first: Uint8Array, complete: boolean, expected: Expected): Judgement {
  const kind = kindOf(first, complete);
  const { gzipped } = kind;
  const packed = gzipped ? ', compressed with gzip' : '';
  if (kind.kind === 'empty') return { result: 'empty', gzipped };
  if (kind.kind === 'packed') return { result: 'open', format: null, gzipped };
  if (kind.kind === 'other')
    return { result: 'refused', looks: kind.looks.startsWith('gzip') ? kind.looks : `${kind.looks}${packed}` };
  const judged =
    kind.kind === 'archive' ? judgeArchive(kind, expected) : judgeText(kind.start, kind.complete, expected);
  if (judged.result === 'refused') return { ...judged, looks: `${judged.looks}${packed}` };
  return { ...judged, gzipped };
}

function judgeArchive(
  { format, sure }: { format: 'xlsx' | 'xls' | 'zip'; sure: boolean },
  { formats }: Expected,
): KindJudgement {
  const listed = formats.includes(format);
  if (!sure && formats.includes('xlsx')) return { result: 'open', format: listed ? format : 'xlsx' };
  if (listed) return { result: 'accepted', format, csv: null };
  return { result: 'refused', looks: ARCHIVES[format] };
}

const ARCHIVES = { xlsx: 'a spreadsheet of Excel', xls: 'a spreadsheet of Excel 97', zip: 'a zip archive' } as const;

type KindJudgement =
  | { result: 'accepted'; format: FileFormat; csv: Csv | null }
  | { result: 'open'; format: FileFormat }
  | { result: 'refused'; looks: string };

function judgeText(start: TextStart, complete: boolean, { formats, ...listed }: Expected): KindJudgement {
  const index = fieldIndex(listed);
  const begins = start.text.trimStart();
  const isJson = /^[[{]/.test(begins);
  if (isJson && formats.includes('json')) return judgeJson(start.text, complete, index);
  const csv = formats.includes('csv') ? csvStart(start.text, complete, index) : undefined;
  if (csv?.result === 'open') return { result: 'open', format: 'csv' };
  if (csv?.result === 'accepted') return { result: 'accepted', format: 'csv', csv: csvOf(start, csv.csv) };
  if (isJson) return { result: 'refused', looks: 'JSON' };
  if (begins.startsWith('<')) return { result: 'refused', looks: markupOf(begins) };
  return { result: 'refused', looks: csv ? textOf(csv, index) : 'text' };
}

function csvOf({ encoding, markBytes }: TextStart, csv: CsvStart): Csv {
  const unit = encoding === 'utf-16le' || encoding === 'utf-16be' ? 2 : 1;
  return { ...csv, encoding, skip: markBytes + csv.separatorLine * unit, byteOrderMark: markBytes > 0 };
}

function judgeJson(text: string, complete: boolean, index: FieldIndex): KindJudgement {
  const proven = provesJson(text, complete, index);
  if (proven === undefined) return { result: 'open', format: 'json' };
  if (proven) return { result: 'accepted', format: 'json', csv: null };
  return { result: 'refused', looks: 'JSON whose first record has other keys than the fields that the CRM lists' };
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
