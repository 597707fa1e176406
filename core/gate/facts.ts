import * as z from 'zod/mini';

const count = z.int().check(z.minimum(0));
/** A number that is 0 until the content is read. */
const countOf = (what: string) => z._default(count, 0).check(z.describe(what));
/** A fact that is unknown until the content is read. */
const unknown = <T extends z.core.SomeType>(fact: T, what: string) =>
  z._default(z.nullable(fact), null).check(z.describe(what));

/** The end of a file: its last record, and what it has in common with other files of its kind. */
const endingSchema = z.object({
  cells: count.check(z.describe('Cells of the last record.')),
  lineBreak: z.boolean().check(z.describe('A line break follows the last record.')),
});
export type Ending = z.infer<typeof endingSchema>;

/**
 * Facts about the unpacked content of a CSV file or spreadsheet that readers of the file do not need. They are numbers
 * and digests only, without any text of the file. `null` = not known.
 */
const contentSchema = z.object({
  doubts: countOf(
    'Places that programs read differently: a line break of another kind, a DOS end-of-file mark, an empty line in a file of one column.',
  ),
  emptyRows: countOf('Rows without a value in any cell; the row count includes them.'),
  width: unknown(count, 'Cells of the header, or of the first record if there is no header.'),
  headed: unknown(z.boolean(), 'The first record names the columns.'),
  firstRecord: unknown(
    z.string(),
    'SHA-256 of the first record, if it may be a header but does not name all columns as the CRM lists them.',
  ),
  moved: countOf('Cells of such a first record that name another column than the requested one at their position.'),
  unlisted: unknown(count, 'Cells of the header with a text that names no listed field.'),
  unlistedPlaces: z
    ._default(z.array(count), [])
    .check(
      z.describe(
        'Columns, from 1, of the first header cells with an unlisted text; empty if it is unknown whether the record is a header.',
      ),
    ),
  excepted: unknown(count, 'Cells of the header that name a column that is left out.'),
  unnamed: countOf('Columns with values below an empty cell of the header.'),
  longer: countOf('Records with more cells than the first.'),
  irregular: countOf('Records with more or fewer cells than the first.'),
  records: countOf('Records, including the header.'),
  ending: unknown(endingSchema, 'The end of the file.'),
  repeatedHeaders: countOf('Records that repeat the header.'),
  otherHeaders: countOf('Records below the first that name other columns, or the columns in another order.'),
  leftOutHeaders: countOf('Records below the first that are a header with a left-out column.'),
  endsThin: z._default(z.boolean(), false).check(z.describe('The last row of a sheet may be the text of an error.')),
  strayQuotes: countOf('Cells with text after their closing quotation mark.'),
  nulRun: countOf('The most NUL characters in a row.'),
  broken: unknown(
    z.object({ bytes: count, row: count }),
    'Bytes that are invalid in the encoding, and the row of the first; 0 = the header.',
  ),
  ascii: unknown(z.boolean(), 'All characters are ASCII, which is the same in every encoding.'),
  place: unknown(
    z.object({ sheet: count, row: count, column: count }),
    'Where the records of a workbook begin: the number of the worksheet (chart sheets do not count), row and column, from 1.',
  ),
  rowsAbove: countOf('Rows above the header: titles.'),
  sheets: z._default(count, 1).check(z.describe('Visible sheets with a header.')),
  elsewhere: countOf('Places of a workbook or an archive that may hold text, other than the rows of its sheet.'),
  elsewhereKinds: z
    ._default(z.array(z.string()), [])
    .check(z.describe('Kinds of the places in `elsewhere`, from a fixed list.')),
  fullSheet: z._default(z.boolean(), false).check(z.describe('Whether the last possible row of a sheet has a value.')),
});
export type Content = z.infer<typeof contentSchema>;

/** Whether the first record may be a header of these columns, in this order, under other names. */
export function mayName({ width, moved }: Content, columns: readonly string[]): boolean {
  return width === columns.length && moved === 0;
}

/** The facts about a content that was not read. */
export const CONTENT_NOT_READ: Content = contentSchema.parse({});

/** The text format of a file. The values are not limited to those listed: a later release may add others. */
const dialectSchema = z.object({
  encoding: z.nullable(z.string()).check(z.describe('utf-8, utf-16le, utf-16be or windows-1255; null if unknown.')),
  byteOrderMark: z.boolean(),
  separator: z
    .nullable(z.string())
    .check(z.describe('Comma, semicolon or tab; null if there is a single column, or if unknown.')),
  separatorLine: z.boolean().check(z.describe('A first line such as "sep=;" names the separator and is not a row.')),
  lineBreak: z
    .nullable(z.string())
    .check(z.describe('lf, crlf, cr or mixed; null if there is no line break, or if unknown.')),
});
export type Dialect = z.infer<typeof dialectSchema>;

/** The facts about a stored file that was read to its end. The gate judges them, at once or later from the manifest. */
export const factsSchema = z.object({
  bytes: count.check(z.describe('Size of the stored file.')),
  format: z
    .nullable(z.string())
    .check(
      z.describe(
        'Format of the content, by its bytes: csv or xlsx; xls, json or archive if it is published without checks; null if it is empty.',
      ),
    ),
  compression: z.nullable(z.string()).check(z.describe('Compression of the file: gzip or zip; null = none.')),
  dialect: z.nullable(dialectSchema).check(z.describe('How a CSV file is written.')),
  rows: z
    .nullable(count)
    .check(
      z.describe(
        'Records without the header and those that repeat it; null if programs count differently (see doubts), the first record may be a header, or the file was not read.',
      ),
    ),
  header: z
    .nullable(z.array(z.string()))
    .check(z.describe('Names of the columns, as the CRM lists them; null if the first record does not name them.')),
  content: z
    .nullable(contentSchema)
    .check(z.describe('Facts about the content; null if it is empty or published without checks.')),
});
export type Facts = z.infer<typeof factsSchema>;

/**
 * The rows among the records of a content, by the count of a CSV reader.
 * @param headed whether the first record is a header; `null` = not known
 * @returns `null` if programs would count differently
 */
export function rowsIn({ doubts, records, repeatedHeaders }: Content, headed: boolean | null): number | null {
  if (doubts > 0 || headed === null) return null;
  return headed ? records - 1 - repeatedHeaders : records;
}

/** Whether the records of a published file can be read. An empty file has the format `null` and no records. */
export function isReadFormat(format: string | null): boolean {
  return format === null || format === 'csv' || format === 'xlsx';
}

/** Whether a file has no content, packed or not. */
export function isEmptyFile({ format }: Pick<Facts, 'format'>): boolean {
  return format === null;
}
