import { type Content, type Dialect, type Facts, rowsIn } from '../gate/facts.ts';
import { CsvCount } from './csv-count.ts';
import type { Csv } from './csv-start.ts';
import { isWide } from './encoding.ts';
import type { Expected } from './expected-file.ts';
import { LINE_BREAKS } from './regular-records.ts';
import { UnreadableFile } from './unreadable-file.ts';

/** The facts about a CSV file that was read to its end. */
export type CsvFacts = Pick<Facts, 'header' | 'rows'> & { content: Content; dialect: Dialect; remarks: string[] };

/**
 * Reads a CSV file to its end.
 * @param chunks the first one contains all bytes above the first record
 * @param reading `undeclaredEnd`: the content must prove that it is complete
 * @throws UnreadableFile if the file is, or may be, cut off; any error from reading the bytes
 */
export async function readCsv(
  chunks: AsyncIterable<Uint8Array>,
  csv: Csv,
  { expected, undeclaredEnd }: { expected: Expected; undeclaredEnd: boolean },
): Promise<CsvFacts> {
  const count = new CsvCount(csv, expected);
  let { skip } = csv;
  for await (const chunk of chunks) {
    count.push(chunk.subarray(skip));
    skip = 0;
  }
  const { cut } = count.end();
  if (cut || count.scanner.endsQuoted) {
    const where = cut ? 'in the middle of a character' : 'inside a quoted field';
    throw new UnreadableFile(`is CSV that ends ${where}: the CRM cut it off`);
  }
  const doubt = undeclaredEnd && doubtOf(count);
  if (doubt) throw doubtfulEnd(doubt);
  const { content } = count;
  const dialect = dialectOf(csv, count);
  const rows = rowsIn(content, content.headed);
  const remarks = remarksOf(csv, count, { content, dialect }, expected);
  return { header: csv.header.names, rows, content, dialect, remarks };
}

/**
 * The error for a file that may be cut off: only the closing of its connection marked its end, and its content does not
 * prove it complete. A cut between two rows cannot be detected; the manifest warns of it.
 */
export function doubtfulEnd(doubt: string): UnreadableFile {
  return new UnreadableFile(`came without a declared length, and the check cannot prove that it is complete: ${doubt}`);
}

function doubtOf({ scanner, content }: CsvCount): string | undefined {
  if (scanner.strayBreaks > 0 || scanner.endMarkInside) return 'not all of its line breaks are of one kind';
  if (!scanner.endsWithBreak) return 'its last row does not end with a line break';
  if (content.irregular > 0) return 'not all of its rows have as many fields as its first';
  return undefined;
}

function dialectOf(csv: Csv, { text, scanner }: CsvCount): Dialect {
  return {
    encoding: isWide(csv.encoding) ? csv.encoding : text.encoding,
    byteOrderMark: csv.byteOrderMark,
    separator: csv.separatorProven ? csv.separator : null,
    separatorLine: csv.separatorLine,
    lineBreak: lineBreakOf(scanner),
  };
}

function lineBreakOf({ lineBreaks }: { lineBreaks: number }): Dialect['lineBreak'] {
  if (lineBreaks === 0) return null;
  const named = Object.entries(LINE_BREAKS).find(([, bits]) => bits === lineBreaks);
  return named?.[0] ?? 'mixed';
}

/** If more rows look like an error message, they are data. */
const MOST_ERRORS = 3;

/** What readers of a CSV file should know, in sentences. */
function remarksOf(
  csv: Csv,
  count: CsvCount,
  { content, dialect }: { content: Content; dialect: Dialect },
  { headerless }: Expected,
): string[] {
  const { emptyRows, repeatedHeaders, otherHeaders, strayQuotes, broken, nulRun, rowsAbove, doubts } = content;
  const { overhanging, errors, endsWithError, records } = count;
  const some = (number: number) => number > 0 && number < records - 1;
  const remarks: [holds: boolean, remark: string][] = [
    [rowsAbove > 0, `The header is below ${counted(rowsAbove, 'line')} of titles.`],
    [emptyRows > 0, `There ${areMany(emptyRows, 'row')} without a value in any column.`],
    [repeatedHeaders > 0, `There ${areMany(repeatedHeaders, 'row')} that repeat${s(repeatedHeaders)} the header.`],
    [
      otherHeaders > 0,
      `There ${areMany(otherHeaders, 'row')} that name${s(otherHeaders)} other columns, or another order.`,
    ],
    [
      strayQuotes > 0,
      `There ${areMany(strayQuotes, 'cell')} with text after ${strayQuotes === 1 ? 'its' : 'their'} closing quotation mark.`,
    ],
    [some(overhanging), `${counted(overhanging, 'row')} end${s(overhanging)} with empty cells beyond the header.`],
    [dialect.encoding === null, 'The encoding of the file is not recognised.'],
    [
      broken !== null,
      `The file is ${isWide(csv.encoding) ? 'UTF-16' : 'UTF-8'} except for ${counted(broken?.bytes ?? 0, 'byte')}, the first in ${broken?.row ? `row ${broken.row}` : 'the header'}.`,
    ],
    [nulRun > 0, 'The file has characters with the code 0: a part of it may be damaged.'],
    [errors > 0 && errors <= MOST_ERRORS && !endsWithError, `${counted(errors, 'row')} may be the text of an error.`],
    [endsWithError, 'The last row may be the text of an error.'],
    [doubts > 0 && content.headed !== null, `Rows are not counted: ${whyNot(csv, count)}.`],
  ];
  return [...headerRemarks(csv, headerless), ...remarks.flatMap(([holds, remark]) => (holds ? [remark] : []))];
}

const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
const areMany = (count: number, what: string) => `${count === 1 ? 'is' : 'are'} ${counted(count, what)}`;
const s = (count: number) => (count === 1 ? 's' : '');

function whyNot({ first }: Csv, { scanner: { strayBreaks, endMarkInside, emptyLines } }: CsvCount): string {
  const why: [holds: boolean, text: string][] = [
    [strayBreaks > 0, `programs take the line breaks at ${strayBreaks} places differently`],
    [endMarkInside, 'it has a DOS end-of-text mark before its end'],
    [first.length === 1 && emptyLines > 0, 'its empty lines may be empty values, or no rows'],
  ];
  return why.flatMap(([holds, text]) => (holds ? [text] : [])).join('; ');
}

function headerRemarks({ header: { names, counts }, seemsHeaded }: Csv, headerless: boolean): string[] {
  if (seemsHeaded)
    return ['The first line names the columns, though columns.header says that there is no such line: it is a row.'];
  const named = names?.filter((name) => name !== '');
  if (named && new Set(named).size < named.length) return ['The header names a column twice.'];
  if (named) return [];
  if (counts.headed === false) return headerless ? [] : ['The file has no header: its first line is a row.'];
  return counts.headed ? ['The first line names columns that the CRM does not list under one name.'] : [];
}
