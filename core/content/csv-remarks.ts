import type { Csv } from '../files/judge-file.ts';
import type { Content, Dialect } from '../gate/facts.ts';
import type { Scan } from '../step/scan.ts';

/**
 * What a reader of a CSV file should know, in sentences.
 * @param headerless by the configuration: that there is no header is known
 */
export function csvRemarks(
  csv: Csv,
  scan: Scan,
  { content, dialect }: { content: Content; dialect: Dialect },
  headerless: boolean,
): string[] {
  const { emptyRows, repeatedHeaders, strayQuotes } = content;
  const remarks: [holds: boolean, remark: string][] = [
    [emptyRows > 0, `${counted(emptyRows, 'row')} without a value in any column.`],
    [
      repeatedHeaders > 0,
      `${counted(repeatedHeaders, 'row')} that repeat${repeatedHeaders === 1 ? 's' : ''} the header.`,
    ],
    [
      strayQuotes > 0,
      `${counted(strayQuotes, 'quotation mark')} where CSV has none: programs read such fields differently.`,
    ],
    [dialect.encoding === null, 'The encoding of the file is none that is known.'],
    [scan.zeros, 'The file holds characters with the code 0: a part of it may be damaged.'],
  ];
  return [
    ...headerRemarks(csv, headerless),
    ...rowRemarks(scan, content),
    ...remarks.flatMap(([holds, remark]) => (holds ? [remark] : [])),
  ];
}

function counted(count: number, what: string): string {
  return count === 1 ? `There is 1 ${what}` : `There are ${count} ${what}s`;
}

/**
 * Says how the counts of rows differ. The gate says whether the first line names the columns: a person may have told
 * it.
 */
function rowRemarks(scan: Scan, { rows }: Content): string[] {
  if (!rows || rows.least === rows.most) return [];
  const why: [holds: boolean, text: string][] = [
    [scan.doubts > 0, `programs take the line breaks at ${scan.doubts} places differently`],
    [scan.width === 1 && scan.blankLines > 0, 'its empty lines may be empty values, or no rows'],
  ];
  const reasons = why.flatMap(([holds, text]) => (holds ? [text] : []));
  if (reasons.length === 0) return [];
  return [`Rows are not counted exactly (${rows.least} to ${rows.most}): ${reasons.join('; ')}.`];
}

function headerRemarks({ names, headed, seemsHeaded }: Csv, headerless: boolean): string[] {
  if (seemsHeaded)
    return ['The first line names the columns, though columns.header says that there is no such line: it is a row.'];
  const header = names?.header?.filter((name) => name !== '');
  if (header && new Set(header).size < header.length) return ['The header names a column twice.'];
  if (header) return names?.labelled ? ['The first line names the columns by their labels.'] : [];
  if (headed === false) return headerless ? [] : ['The file has no header: its first line is a row.'];
  return headed ? ['The first line names columns that the CRM does not list under one name.'] : [];
}
