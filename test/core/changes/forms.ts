import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { workbookFile, workbookOf } from '../../support/workbook.ts';
import { zipOfTexts } from '../../support/zip.ts';
import type { Published } from '../table/support.ts';
import { COLUMNS, HEADER, type Row } from './nights.ts';

/** The form of a night's file. All forms give the same table. */
export interface Form {
  kind: 'csv' | 'xlsx';
  separator: ',' | ';' | '\t' | '|';
  lineBreak: 'lf' | 'crlf' | 'cr';
  /** Whether all fields are quoted, or only those that need quotes. */
  quoted: boolean;
  encoding: 'utf-8' | 'utf-8 with its mark' | 'utf-16le' | 'utf-16be' | 'windows-1255';
  compression: 'gzip' | 'zip' | null;
}

export const PLAIN: Form = {
  kind: 'csv',
  separator: ',',
  lineBreak: 'lf',
  quoted: false,
  encoding: 'utf-8',
  compression: null,
};

export const forms: fc.Arbitrary<Form> = fc.record({
  kind: fc.constantFrom('csv', 'csv', 'csv', 'xlsx'),
  separator: fc.constantFrom(',', ';', '\t', '|'),
  lineBreak: fc.constantFrom('lf', 'crlf', 'cr'),
  quoted: fc.boolean(),
  encoding: fc.constantFrom('utf-8', 'utf-8 with its mark', 'utf-16le', 'utf-16be', 'windows-1255'),
  compression: fc.constantFrom(null, null, 'gzip', 'zip'),
});

const BREAKS = { lf: '\n', crlf: '\r\n', cr: '\r' };
const BOM = '\uFEFF';

/** A night's file in that form, and its description in the manifest. */
export async function publishedAs(rows: Row[], form: Form): Promise<Published> {
  const { content, file } = form.kind === 'xlsx' ? await sheetOf(rows) : csvOf(rows, form);
  const settings = { columns: COLUMNS };
  const { compression } = form;
  const name = form.kind === 'xlsx' ? 'leads.xlsx' : 'leads.csv';
  if (compression === null) return { content, file, settings };
  const packed = compression === 'gzip' ? gzipSync(content) : zipOfTexts({ [name]: content });
  return { content: packed, file: { ...file, compression }, settings };
}

/** Whole numbers are numeric cells, as programs write them. */
async function sheetOf(rows: Row[]) {
  const cell = (text: string) => (/^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text === '' ? null : text);
  const content = workbookOf(HEADER, ...rows.map((row) => row.map(cell)));
  return { content, file: await workbookFile(content, HEADER) };
}

function csvOf(rows: Row[], { separator, lineBreak, quoted, encoding }: Form) {
  const needed = (field: string) => quoted || /["\r\n]/.test(field) || field.includes(separator);
  const written = (field: string) => (needed(field) ? `"${field.replaceAll('"', '""')}"` : field);
  const text = [HEADER, ...rows].map((row) => row.map(written).join(separator) + BREAKS[lineBreak]).join('');
  // windows-1255 has only Hebrew letters besides ASCII.
  const possible = encoding !== 'windows-1255' || /^[\0-~א-ת]*$/.test(text);
  const as = possible ? encoding : 'utf-8';
  const dialect = {
    ...{ separator, lineBreak, byteOrderMark: as !== 'utf-8' && as !== 'windows-1255' },
    encoding: as === 'utf-8 with its mark' ? ('utf-8' as const) : as,
  };
  return { content: ENCODED[as](text), file: { header: HEADER, dialect } };
}

const ENCODED: Record<Form['encoding'], (text: string) => Buffer> = {
  'utf-8': (text) => Buffer.from(text),
  'utf-8 with its mark': (text) => Buffer.from(BOM + text),
  'utf-16le': (text) => Buffer.from(BOM + text, 'utf16le'),
  'utf-16be': (text) => Buffer.from(BOM + text, 'utf16le').swap16(),
  'windows-1255': (text) =>
    Buffer.from(
      text.replaceAll(/[א-ת]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x4f0)),
      'latin1',
    ),
};
