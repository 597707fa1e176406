import * as z from 'zod/mini';

const count = z.int().check(z.minimum(0));

/** The end of a file: its last record, and what it has in common with other files of its kind. */
export const endingSchema = z.object({
  cells: count.check(z.describe('Cells of the last record.')),
  lineBreak: z.boolean().check(z.describe('A line break follows it.')),
});
export type Ending = z.infer<typeof endingSchema>;

/**
 * Facts about the unpacked content of a CSV file or spreadsheet that readers of the file do not need. They are numbers
 * and digests only, without any text of the file. `null` = not known.
 */
const contentSchema = z.object({
  rows: z
    .nullable(count)
    .check(
      z.describe(
        'Records after the header, without those that repeat it; null where programs count differently (see doubts), or the first record may be a header.',
      ),
    ),
  doubts: count.check(
    z.describe(
      'Places that programs read differently: a line break of another kind, a mark that ends texts of DOS, an empty line in a file of one column.',
    ),
  ),
  emptyRows: count.check(z.describe('Rows that are empty in every cell; they are among the rows.')),
  width: z.nullable(count).check(z.describe('Cells of the header, or of the first record where there is none.')),
  headed: z.nullable(z.boolean()).check(z.describe('The first record names the columns.')),
  firstRecord: z
    .nullable(z.string())
    .check(
      z.describe(
        'SHA-256 of the first record, where it may be a header and does not name all columns as the CRM lists them.',
      ),
    ),
  unlisted: z.nullable(count).check(z.describe('Cells of the header that name no listed field, empty ones aside.')),
  unlistedPlaces: z
    .array(count)
    .check(z.describe('The columns of some of these cells, from 1, where the record is known to be a header.')),
  excepted: z.nullable(count).check(z.describe('Cells of the header that name a column that is left out.')),
  unnamed: count.check(z.describe('Columns with values below an empty cell of the header.')),
  longer: count.check(z.describe('Records with more cells than the first.')),
  irregular: count.check(z.describe('Records with another number of cells than the first.')),
  records: count.check(z.describe('Records, the header among them.')),
  ending: z.nullable(endingSchema),
  repeatedHeaders: count.check(z.describe('Records that repeat the header.')),
  otherHeaders: count.check(z.describe('Records further down that name other columns, or another order of them.')),
  leftOutHeaders: count.check(z.describe('Those of them that name a column that is left out.')),
  endsThin: z._default(z.boolean(), false).check(z.describe('The last row of a sheet may be the text of an error.')),
  strayQuotes: count.check(z.describe('Cells with text after their closing quotation mark.')),
  nulRun: count.check(z.describe('Characters with the code 0 in the longest run of them.')),
  broken: z
    .nullable(z.object({ bytes: count, row: count }))
    .check(z.describe('Bytes that are no characters of the encoding, and the row of the first; 0 = the header.')),
  ascii: z.nullable(z.boolean()).check(z.describe('All characters are of ASCII: any encoding would do.')),
  place: z
    .nullable(z.object({ sheet: count, row: count, column: count }))
    .check(
      z.describe('Where the records of a workbook begin: the number of the sheet of cells, row and column, from 1.'),
    ),
  rowsAbove: count.check(z.describe('Rows above the header: titles.')),
  sheets: count.check(z.describe('Visible sheets with a header.')),
  elsewhere: count.check(
    z.describe('Places of a workbook or an archive that may hold text, other than the rows of its sheet.'),
  ),
  elsewhereKinds: z
    ._default(z.array(z.string()), [])
    .check(z.describe('What these places are, as terms of a fixed list.')),
  fullSheet: z.boolean().check(z.describe('There is a value in the last row that a sheet can have.')),
});
export type Content = z.infer<typeof contentSchema>;

/** The text format of a file. The values are not limited to those listed: a later release may add others. */
const dialectSchema = z.object({
  encoding: z.nullable(z.string()).check(z.describe('utf-8, utf-16le, utf-16be or windows-1255; null = not known.')),
  byteOrderMark: z.boolean(),
  separator: z
    .nullable(z.string())
    .check(z.describe('Comma, semicolon or tab; null = there is a single column, or not known.')),
  separatorLine: z.boolean().check(z.describe('A first line such as "sep=;" names the separator and is not a row.')),
  lineBreak: z.nullable(z.string()).check(z.describe('lf, crlf, cr or mixed; null = there is none, or not known.')),
});
export type Dialect = z.infer<typeof dialectSchema>;

/** The facts about a stored file that was read to its end. The gate judges them, at once or later from the manifest. */
export const factsSchema = z.object({
  bytes: count.check(z.describe('The size of the file as it is stored.')),
  format: z
    .nullable(z.string())
    .check(
      z.describe(
        'What the file holds, by its bytes: csv or xlsx; xls, json or archive where it is published unjudged; null where it is empty.',
      ),
    ),
  compression: z.nullable(z.string()).check(z.describe('What the file is packed with: gzip, zip, or null.')),
  dialect: z.nullable(dialectSchema).check(z.describe('How a CSV file is written.')),
  header: z
    .nullable(z.array(z.string()))
    .check(z.describe('Names of the columns, as the CRM lists them; null where the first record is not made of them.')),
  content: z
    .nullable(contentSchema)
    .check(z.describe('What the file holds, in numbers; null where it is empty, or published unjudged.')),
});
export type Facts = z.infer<typeof factsSchema>;

/** The facts about a content that was not read. */
export const UNSEEN: Content = {
  rows: null,
  doubts: 0,
  emptyRows: 0,
  width: null,
  headed: null,
  firstRecord: null,
  unlisted: null,
  unlistedPlaces: [],
  excepted: null,
  unnamed: 0,
  longer: 0,
  irregular: 0,
  records: 0,
  ending: null,
  repeatedHeaders: 0,
  otherHeaders: 0,
  leftOutHeaders: 0,
  endsThin: false,
  strayQuotes: 0,
  nulRun: 0,
  broken: null,
  ascii: null,
  place: null,
  rowsAbove: 0,
  sheets: 1,
  elsewhere: 0,
  elsewhereKinds: [],
  fullSheet: false,
};

/** Rows by the count of a CSV reader; `null` if different readers would count differently. */
export function rowsOf(facts: Pick<Facts, 'format' | 'content'>): number | null {
  return isEmptyFile(facts) ? 0 : (facts.content?.rows ?? null);
}

/** Whether the records of a published file can be read. An empty file has the format `null` and no records. */
export function isReadFormat(format: string | null): boolean {
  return format === null || format === 'csv' || format === 'xlsx';
}

/** Whether a file has no content, packed or not. */
export function isEmptyFile({ format }: Pick<Facts, 'format'>): boolean {
  return format === null;
}
