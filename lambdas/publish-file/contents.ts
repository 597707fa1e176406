import type { Manifest } from '../../core/export/manifest.ts';
import { LINE_BREAKS } from '../../core/files/csv-scan.ts';
import type { Csv } from '../../core/files/judge-file.ts';
import type { Scan, StoredFile } from '../../core/step/states.ts';
import type { Accepted } from './judge-stored.ts';

type ManifestFile = Manifest['file'];

/** `null` where it is not known. */
export interface Contents extends Pick<ManifestFile, 'format' | 'compression' | 'dialect' | 'rows' | 'header'> {
  /** There is nothing in it, be it packed or not. */
  empty: boolean;
  /** Records with another number of fields than the first; 0 where that is not known. */
  irregular: number;
  /** Their share of all records; `null` where it is not known. */
  irregularShare: number | null;
  /** Fields of the first record of a CSV file. */
  width: number | null;
  /** Columns that must not be there. */
  excepted: number | null;
  /** Warnings. */
  remarks: string[];
}

export function contentsOf(file: StoredFile, judged: Accepted, scan: Scan): Contents {
  const compression = judged.gzipped ? 'gzip' : null;
  const unknown = { dialect: null, rows: null, header: null, irregular: 0, irregularShare: null };
  const unseen = { width: null, excepted: null };
  const nothing = { format: null, compression, empty: false, ...unknown, ...unseen };
  if (judged.result === 'empty') {
    const remarks = [judged.gzipped ? 'There is nothing in the file.' : 'The file has 0 bytes.'];
    return { ...nothing, empty: true, excepted: 0, ...(file.key.endsWith('.csv') && { rows: 0, header: [] }), remarks };
  }
  const { format, csv, gzipped } = judged;
  if (!csv) return { ...nothing, format, remarks: [] };
  const { width, excepted } = csv;
  // Not even its name is repeated.
  const header = excepted > 0 ? null : csv.header;
  const known = { ...nothing, format, header, width, excepted };
  if (gzipped) return { ...known, dialect: dialectOf(csv, null), remarks: headerRemarks(csv) };
  const { rows, remarks } = counted(csv, scan);
  const dialect = dialectOf(csv, scan);
  const damage = [
    ...(dialect.encoding === null ? ['The encoding of the file is none that is known.'] : []),
    ...(scan.zeros ? ['The file holds characters with the code 0: a part of it may be damaged.'] : []),
  ];
  const comparable = scan.doubts === 0 && csv.separatorProven;
  return {
    ...known,
    dialect,
    rows,
    irregular: comparable ? scan.irregular : 0,
    irregularShare: comparable ? scan.irregular / Math.max(1, scan.records) : null,
    remarks: [...headerRemarks(csv), ...remarks, ...damage],
  };
}

function counted(csv: Csv, scan: Scan): { rows: number | null; remarks: string[] } {
  const not = (why: string) => ({ rows: null, remarks: [`Rows are not counted: ${why}.`] });
  if (csv.headed === null) return not('whether the first line names the columns is not known');
  if (scan.doubts > 0) return not(`programs take the line breaks at ${scan.doubts} places differently`);
  if (scan.width === 1 && scan.blankLines > 0) return not('its empty lines may be empty values, or no rows');
  return { rows: Math.max(0, scan.records - (csv.headed ? 1 : 0)), remarks: [] };
}

function headerRemarks({ header, headed, labelled }: Csv): string[] {
  if (header && new Set(header).size < header.length) return ['The header names a column twice.'];
  if (header) return labelled ? ['The first line names the columns by their labels.'] : [];
  if (headed === false) return ['The file has no header: its first line is a row.'];
  return headed ? ['The first line names columns that the CRM does not list under one name.'] : [];
}

/** @param scan `null` where only the beginning was seen */
function dialectOf(csv: Csv, scan: Scan | null): NonNullable<ManifestFile['dialect']> {
  const { byteOrderMark, separatorLine } = csv;
  const wide = csv.encoding?.startsWith('utf-16') ? csv.encoding : null;
  const narrow = scan ? scan.encoding : byteOrderMark ? csv.encoding : null;
  return {
    encoding: wide ?? (narrow === 'unknown' ? null : narrow),
    byteOrderMark,
    separator: csv.separatorProven ? csv.separator : null,
    separatorLine: separatorLine > 0,
    lineBreak: scan && lineBreakOf(scan),
  };
}

function lineBreakOf({ lineBreaks }: Scan): 'lf' | 'crlf' | 'cr' | 'mixed' | null {
  if (lineBreaks === 0) return null;
  if (lineBreaks === LINE_BREAKS.lf) return 'lf';
  if (lineBreaks === LINE_BREAKS.crlf) return 'crlf';
  return lineBreaks === LINE_BREAKS.cr ? 'cr' : 'mixed';
}
