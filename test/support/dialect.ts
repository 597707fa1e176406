import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { Entity } from '../../core/config/entities.ts';
import { COLUMNS, ID_FIELD } from '../../sandbox/data/entity-columns.ts';
import { encodedAs } from './encoded.ts';
import { smallWorkbook } from './workbook.ts';
import { zipOfTexts } from './zip.ts';

/** The records of an export in another format: the interface document defines none. */
export interface Dialect {
  format?: 'csv' | 'xlsx' | 'json-lines';
  /** `capitals`: names in another case. */
  header?: 'names' | 'labels' | 'capitals' | 'none';
  separator?: ',' | ';' | '\t';
  lineBreak?: '\r\n' | '\n' | '\r';
  encoding?: 'utf-8' | 'utf-16le' | 'windows-1255';
  byteOrderMark?: boolean;
  /** A first line `sep=;`, which Excel reads. */
  separatorLine?: boolean;
  packed?: 'gzip' | 'zip';
}

/** The `body` of a fault of the sandbox at `file`: the records of the export as another program writes them. */
export function writtenAs({ format, header = 'names', packed, ...dialect }: Dialect) {
  return (csv: Uint8Array, entity: Entity): Buffer => {
    const [names = [], ...records]: string[][] = parse(Buffer.from(csv));
    const rows = [...headerOf(names, entity, header), ...records];
    if (format === 'xlsx') return smallWorkbook(rows);
    if (format === 'json-lines')
      return Buffer.from(
        records
          .map((cells) => `${JSON.stringify(Object.fromEntries(names.map((name, at) => [name, cells[at]])))}\n`)
          .join(''),
      );
    const bytes = csvBytes(rows, dialect);
    if (packed === 'zip') return zipOfTexts({ [`${entity}.csv`]: bytes });
    return packed === 'gzip' ? gzipSync(bytes) : bytes;
  };
}

function headerOf(names: string[], entity: Entity, header: NonNullable<Dialect['header']>): string[][] {
  if (header === 'none') return [];
  const labels = new Map([ID_FIELD, ...COLUMNS[entity]].map(({ fieldName, label }) => [fieldName, label]));
  if (header === 'labels') return [names.map((name) => labels.get(name) ?? name)];
  return [header === 'capitals' ? names.map((name) => name.toUpperCase()) : names];
}

function csvBytes(rows: string[][], dialect: Dialect): Buffer {
  const { separator = ',', lineBreak = '\r\n', encoding = 'utf-8', byteOrderMark, separatorLine } = dialect;
  const lines = rows.map((cells) => csvLine(cells, separator, lineBreak));
  const mark = byteOrderMark ? '\uFEFF' : '';
  const text = [mark, separatorLine ? `sep=${separator}${lineBreak}` : '', ...lines].join('');
  return encodedAs(text, encoding);
}

/** One line of texts as in RFC 4180, but with another separator and line end. */
function csvLine(cells: string[], separator: string, lineBreak: string): string {
  const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
  const texts = cells.map((cell) => (/["\r\n]/.test(cell) || cell.includes(separator) ? quoted(cell) : cell));
  return `${texts.join(separator)}${lineBreak}`;
}
