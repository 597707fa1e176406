import { LINE_BREAKS } from '../files/csv-scan.ts';
import type { Csv } from '../files/judge-file.ts';
import { isWide } from '../files/kernel/kernel.ts';
import { type Content, type Dialect, type Facts, type Range, UNSEEN } from '../gate/facts.ts';
import type { Scan } from '../step/scan.ts';
import type { CsvEnd } from './csv-pass.ts';

/** What is known of a CSV file that was read to its end, unpacked. */
export function csvFacts(
  csv: Csv,
  scan: Scan,
  end: CsvEnd,
): Pick<Facts, 'header'> & { content: Content; dialect: Dialect } {
  const { names } = csv;
  // Where programs see other fields, their numbers say nothing.
  const comparable = scan.doubts === 0 && csv.separatorProven;
  const content: Content = {
    ...UNSEEN,
    rows: rowsOf(csv, scan),
    emptyRows: scan.emptyRows,
    width: csv.width,
    headed: csv.headed,
    firstRecord: csv.firstRecord,
    unlisted: names?.unlisted ?? null,
    unlistedTexts: names?.unlistedTexts ?? [],
    excepted: names?.excepted ?? null,
    unnamed: scan.valued === '' ? 0 : scan.valued.split('-').length,
    longer: scan.longer + scan.twinLonger,
    irregular: comparable ? scan.irregular : 0,
    records: scan.records,
    ending: csv.separatorProven || csv.width === 1 ? { cells: cellsAtEnd(csv, scan), lineBreak: end.lineBreak } : null,
    repeatedHeaders: scan.repeatedHeaders,
    strayQuotes: scan.strayQuotes,
    ascii: scan.ascii && !isWide(csv.encoding),
  };
  return { dialect: dialectOf(csv, scan), header: names?.header ?? null, content };
}

/** The cells of the last record. Without a proven separator there is a single column, whatever separates elsewhere. */
function cellsAtEnd({ separatorProven }: Csv, { last }: Scan): number {
  return separatorProven ? last : 1;
}

/** Records behind the header, in all the readings of the file. */
function rowsOf({ headed }: Csv, { records, extra, markedAt, endMarks, width, blankLines }: Scan): Range {
  // What follows the end mark of DOS may be no part of the text; for others the mark is a character like any.
  const marked = markedAt < 0 ? { before: records, marks: 0 } : { before: markedAt, marks: endMarks };
  const blank = width === 1 ? blankLines : 0;
  const least = Math.min(records, records + extra, marked.before) - (headed === false ? 0 : 1);
  const most = Math.max(records, records + extra) + marked.marks + blank - (headed === true ? 1 : 0);
  return { least: Math.max(0, least), most: Math.max(0, most) };
}

function dialectOf(csv: Csv, scan: Scan): Dialect {
  const narrow = scan.encoding === 'unknown' ? null : scan.encoding;
  return {
    encoding: isWide(csv.encoding) ? csv.encoding : narrow,
    byteOrderMark: csv.byteOrderMark,
    separator: csv.separatorProven ? csv.separator : null,
    separatorLine: csv.separatorLine > 0,
    lineBreak: lineBreakOf(scan),
  };
}

function lineBreakOf({ lineBreaks }: Scan): 'lf' | 'crlf' | 'cr' | 'mixed' | null {
  if (lineBreaks === 0) return null;
  if (lineBreaks === LINE_BREAKS.lf) return 'lf';
  if (lineBreaks === LINE_BREAKS.crlf) return 'crlf';
  return lineBreaks === LINE_BREAKS.cr ? 'cr' : 'mixed';
}
