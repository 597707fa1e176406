import { isUtf8 } from 'node:buffer';
import { countText } from '../count-text.ts';
import { isFilled } from '../folded.ts';
import { CONTENT_NOT_READ, type Content, type Dialect, type Facts, rowsIn } from '../gate/facts.ts';
import { cellsOf } from './csv-cells.ts';
import type { Csv } from './csv-start.ts';
import { decoded, decodedBelow, isWide, TextCheck, Utf16Reader } from './encoding.ts';
import { ERROR_TEXT_BYTES, errorWarnings, isErrorRow, mayBeginError, startsWithError } from './error-text.ts';
import type { Expected } from './expected-file.ts';
import { LaterHeaders } from './later-headers.ts';
import { LINE_BREAKS, Scanner } from './scanner.ts';
import { UnreadableFile } from './unreadable-file.ts';

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
): Promise<Pick<Facts, 'header' | 'rows' | 'content' | 'dialect'> & { warnings: string[] }> {
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
  const warnings = warningsOf(csv, count, { content, dialect }, expected);
  return { header: csv.header.names, rows, content, dialect, warnings };
}

/**
 * The error for a file that may be cut off: only the closing of its connection marked its end, and its content does not
 * prove it complete. A cut between two rows cannot be detected; the manifest warns of it.
 */
export function doubtfulEnd(doubt: string): UnreadableFile {
  return new UnreadableFile(`came without a declared length, and its content does not prove it complete: ${doubt}`);
}

function doubtOf({ scanner, content }: CsvCount): string | undefined {
  if (scanner.strayBreaks > 0 || scanner.endMarkInside) return 'not all of its line breaks are of one kind';
  if (!scanner.endsWithBreak) return 'its last row does not end with a line break';
  if (content.irregular > 0) return 'not all of its rows have as many fields as its first';
  return undefined;
}

function dialectOf(csv: Csv, { text, scanner }: CsvCount): Dialect {
  const named = Object.entries(LINE_BREAKS).find(([, bits]) => bits === scanner.lineBreaks);
  return {
    encoding: isWide(csv.encoding) ? csv.encoding : text.encoding,
    byteOrderMark: csv.byteOrderMark,
    separator: csv.separatorProven ? csv.separator : null,
    separatorLine: csv.separatorLine,
    lineBreak: scanner.lineBreaks === 0 ? null : (named?.[0] ?? 'mixed'),
  };
}

/** Warnings for readers of a CSV file, in sentences. */
function warningsOf(
  csv: Csv,
  count: CsvCount,
  { content, dialect }: { content: Content; dialect: Dialect },
  { headerless }: Expected,
): string[] {
  const { emptyRows, repeatedHeaders, otherHeaders, strayQuotes, broken, nulRun, rowsAbove, doubts } = content;
  const { overhanging, errors, endsWithError, records } = count;
  const some = (number: number) => number > 0 && number < records - 1;
  const warnings: [holds: boolean, warning: string][] = [
    [rowsAbove > 0, `The header is below ${countText(rowsAbove, 'line')} of titles.`],
    [emptyRows > 0, `There ${areMany(emptyRows, 'row')} without a value in any column.`],
    [repeatedHeaders > 0, `There ${areMany(repeatedHeaders, 'row')} that repeat${s(repeatedHeaders)} the header.`],
    [
      otherHeaders > 0,
      `There ${areMany(otherHeaders, 'row')} that name${s(otherHeaders)} other columns, or the columns in another order.`,
    ],
    [
      strayQuotes > 0,
      `There ${areMany(strayQuotes, 'cell')} with text after ${strayQuotes === 1 ? 'its' : 'their'} closing quotation mark.`,
    ],
    [some(overhanging), `${countText(overhanging, 'row')} end${s(overhanging)} with empty cells beyond the header.`],
    [dialect.encoding === null, 'The encoding of the file is not recognised.'],
    [
      broken !== null,
      `The file is ${isWide(csv.encoding) ? 'UTF-16' : 'UTF-8'} except for ${countText(broken?.bytes ?? 0, 'byte')}, the first in ${broken?.row ? `row ${broken.row}` : 'the header'}.`,
    ],
    [nulRun > 0, 'The file has NUL characters: a part of it may be damaged.'],
    ...errorWarnings(errors, endsWithError).map((warning): [boolean, string] => [true, warning]),
    [doubts > 0 && content.headed !== null, `Rows are not counted: ${whyNot(csv, count)}.`],
  ];
  return [...headerWarnings(csv, headerless), ...warnings.flatMap(([holds, warning]) => (holds ? [warning] : []))];
}

const areMany = (count: number, what: string) => `${count === 1 ? 'is' : 'are'} ${countText(count, what)}`;
const s = (count: number) => (count === 1 ? 's' : '');

function whyNot({ first }: Csv, { scanner: { strayBreaks, endMarkInside, emptyLines } }: CsvCount): string {
  const why: [holds: boolean, text: string][] = [
    [strayBreaks > 0, `programs read the line breaks at ${strayBreaks} places differently`],
    [endMarkInside, 'it has a DOS end-of-file mark before its end'],
    [first.length === 1 && emptyLines > 0, 'programs read its empty lines as rows or skip them'],
  ];
  return why.flatMap(([holds, text]) => (holds ? [text] : [])).join('; ');
}

function headerWarnings({ header: { names, counts }, seemsHeaded }: Csv, headerless: boolean): string[] {
  if (seemsHeaded)
    return [
      'The first line names the columns, but it counts as a row, because columns.header says that files have no header.',
    ];
  const named = names?.filter((name) => name !== '');
  if (named && new Set(named).size < named.length) return ['The header names a column twice.'];
  if (named) return [];
  if (counts.headed === false) return headerless ? [] : ['The file has no header: its first line is a row.'];
  return counts.headed ? ['The first line has a text that names no column of the CRM, or several columns.'] : [];
}

const BLANK = 0x20;
/** Separators that may split rows of one cell. */
const OTHER_SEPARATORS = [',', ';', '\t', '|', '^', '~'];

/** Counts the records of a CSV file, chunk by chunk. */
class CsvCount {
  readonly text = new TextCheck();
  readonly scanner: Scanner;
  /** Rows with empty cells beyond the width of the first record. */
  overhanging = 0;
  /** Rows that look like an error message. */
  errors = 0;
  readonly #csv: Csv;
  readonly #headers: LaterHeaders;
  readonly #wide: Utf16Reader | null;
  #emptyRows = 0;
  /** Records with another width than the first record, and how many of these have values beyond its width. */
  #irregular = 0;
  #longer = 0;
  /**
   * The last record that is wider or narrower than the header. Empty extra cells and missing unnamed cells do not
   * count.
   */
  #odd = { record: 0, cells: 0 };
  readonly #width: number;
  /** Number of header cells up to the last one with a text. */
  readonly #named: number;
  /** Positions of header cells without text, and whether a cell with text follows one of them. */
  readonly #unnamed: readonly number[];
  readonly #unnamedInside: boolean;
  /** Positions of unnamed columns that have values. */
  readonly #valued = new Set<number>();
  /** Number of records of one cell with each other separator; `null` if no columns are left out. */
  readonly #splits: Map<string, number> | null;
  /** The last record that was decoded, and its place in the text. */
  #decoded = { place: 0, record: [] as readonly string[], column: 0, isKept: false };
  #recordsBefore = 0;
  /** The beginning of the last record in the blocks that were read so far. */
  #last = '';

  constructor(csv: Csv, expected: Expected) {
    const { separator, decoder, first, encoding } = csv;
    const { headed } = csv.header.counts;
    this.#csv = csv;
    this.#width = first.length;
    this.#unnamed = csv.header.unnamed;
    this.#named = headed === false ? first.length : first.findLastIndex(isFilled) + 1;
    this.#unnamedInside = this.#unnamed.some((place) => place < this.#named);
    this.#wide = isWide(encoding) ? new Utf16Reader(encoding) : null;
    this.#splits = expected.excepted.length > 0 ? new Map() : null;
    const header = headed === false ? [] : first;
    this.#headers = new LaterHeaders(expected, csv.header.index, header, decoder);
    this.scanner = new Scanner(separator, (record) => this.#add(record), {
      names: this.#headers.filter,
      nested: this.#headers.nested,
      onBlock: (block) => this.#endBlock(block),
    });
  }

  /** @throws UnreadableFile */
  push(chunk: Uint8Array): void {
    this.scanner.push(this.#wide ? this.#wide.read(chunk) : chunk);
  }

  /** @returns whether the text ends in the middle of a character */
  end(): { cut: boolean } {
    this.scanner.end();
    return { cut: this.#wide?.cut ?? false };
  }

  /** Records including the header, without titles. */
  get records(): number {
    return Math.max(0, this.scanner.records - this.#csv.rowsAbove);
  }

  /** Whether the last row looks like an error message. */
  get endsWithError(): boolean {
    if (this.records < 2) return false;
    return isErrorRow(cellsOf(this.#last, this.#csv.separator, this.#last.includes('"')));
  }

  get content(): Content {
    const { header, separatorProven, rowsAbove, encoding } = this.#csv;
    const { strayBreaks, strayBreaksBeforeQuote, endMarkInside, emptyLines, strayQuotes, endsWithBreak } = this.scanner;
    const { counts } = this.#headers;
    const doubts = strayBreaks + (endMarkInside ? 1 : 0) + (this.#width === 1 ? emptyLines : 0);
    return {
      ...CONTENT_NOT_READ,
      ...header.counts,
      doubts,
      emptyRows: this.#emptyRows,
      unnamed: this.#valued.size,
      longer: this.#longer,
      // If the separator is uncertain, the width of the records is not known.
      irregular: separatorProven ? this.#irregular : 0,
      records: this.records,
      rowsAbove,
      // If the separator is uncertain, only a file of one column has a known ending.
      ending:
        separatorProven || this.#width === 1
          ? { cells: separatorProven ? this.#cellsOfLast : 1, lineBreak: endsWithBreak }
          : null,
      ...counts,
      strayQuotes,
      nulRun: this.text.nulRun,
      broken: this.#broken,
      ascii: this.text.ascii && !isWide(encoding),
      elsewhere: strayBreaksBeforeQuote + (this.#isSplit ? 1 : 0) + (this.text.hasUtf16 ? 1 : 0),
    };
  }

  get #cellsOfLast(): number {
    return this.#odd.record === this.records ? this.#odd.cells : this.#width;
  }

  get #broken(): Content['broken'] {
    const { broken, encoding } = this.text;
    if (!broken || encoding !== 'utf-8') return null;
    const { rowsAbove, header } = this.#csv;
    const above = rowsAbove + (header.counts.headed === false ? 0 : 1);
    return { bytes: broken.bytes, row: Math.max(0, broken.record - above) };
  }

  /** Whether another separator would split most rows, which have one cell. */
  get #isSplit(): boolean {
    return [...(this.#splits?.values() ?? [])].some((rows) => rows * 2 > this.records - 1);
  }

  #add(record: Scanner): void {
    const { records } = this;
    // Quotation marks in titles and empty lines below them do not matter.
    if (records === 0) record.strayQuotes = 0;
    if (records <= 1) record.emptyLines = 0;
    if (records === 0) return;
    const { from, to, cells, quoted } = record;
    if (cells !== this.#width) this.#odd = { record: records, cells: this.#oddWidth(record) };
    if (to - from - cells + 1 === 2 * quoted) this.#emptyRows += 1;
    if (records > 1) this.#judge(record);
    const isJudged = this.#splits && this.#width === 1;
    if (this.#valued.size === this.#unnamed.length && !isJudged) record.regularWidth = this.#width;
  }

  /** Checks a record below the first one. */
  #judge(record: Scanner): void {
    const { from, to, cells, block, afterEmptyLine } = record;
    const headers = this.#headers;
    const found = headers.mayBe(record) ? [headers.judge(this.#decode(record), afterEmptyLine)] : [];
    const whole = () => decodedBelow(block.toString('latin1', from, to), this.#csv.decoder);
    if (headers.hides && (cells < this.#named || cells === 1 || record.ownStrayBreaks > 0)) {
      // A record with a single cell may be a whole record in quotation marks.
      const [text = ''] = cells === 1 ? this.#textsOf(record) : [whole()];
      found.push(headers.judgeText(text, afterEmptyLine));
    } else if (headers.nested?.mayBeIn(block, from, to)) {
      found.push(headers.judgeCells([...this.#textsOf(record), whole()]));
    }
    headers.count(found);
    this.#findErrorText(record);
    if (this.#valued.size < this.#unnamed.length) this.#findUnnamedValues(record);
    if (this.#splits && cells === 1) this.#findSplit(block.subarray(from, to), this.#splits);
  }

  #textsOf(record: Scanner): readonly string[] {
    return this.#decode(record).record;
  }

  /** Decodes the current record once, for all checks that need its cells. */
  #decode({ block, from, to, quoted, records }: Scanner) {
    if (this.#decoded.place === records) return this.#decoded;
    const { separator, decoder } = this.#csv;
    // UTF-8 is decoded as a whole, which halves the time for a text of Hebrew labels.
    const isWhole = isUtf8(block.subarray(from, to));
    const texts = cellsOf(block.toString(isWhole ? 'utf8' : 'latin1', from, to), separator, quoted > 0);
    const record = isWhole ? texts : texts.map((cell) => decodedBelow(cell, decoder));
    this.#decoded = { place: records, record, column: 0, isKept: decoder === 'utf-8' && !isWhole };
    return this.#decoded;
  }

  /** @returns the width that counts for the record */
  #oddWidth(record: Scanner): number {
    const { cells } = record;
    if (cells < this.#width && cells >= this.#named) return this.#width;
    if (cells > this.#width && this.#filledCells(record) <= this.#width) {
      this.overhanging += 1;
      return this.#width;
    }
    this.#irregular += 1;
    if (cells > this.#width) this.#longer += 1;
    return cells;
  }

  #findUnnamedValues(record: Scanner): void {
    if (!this.#unnamedInside && this.#filledCells(record) <= this.#named) return;
    const cells = this.#textsOf(record);
    for (const place of this.#unnamed) {
      if (place >= cells.length) return;
      if (isFilled(cells[place] ?? '')) this.#valued.add(place);
    }
  }

  /** Number of cells up to the last one with a text, or at most the width of the file. */
  #filledCells(record: Scanner): number {
    const { block, from, to, cells } = record;
    const separator = this.#csv.separator.charCodeAt(0);
    let end = to;
    while (end > from && block[end - 1] === separator) end -= 1;
    // Each separator at the end has an empty cell after it.
    const withBytes = cells - (to - end);
    return withBytes <= this.#width ? withBytes : this.#textsOf(record).findLastIndex(isFilled) + 1;
  }

  #findSplit(record: Uint8Array, splits: Map<string, number>): void {
    for (const separator of OTHER_SEPARATORS) {
      const at = separator === this.#csv.separator ? -1 : record.indexOf(separator.charCodeAt(0));
      // In ordinary text, a space follows a comma, and the commas of most rows are at different places.
      const split = record[at + 1] === BLANK ? `${separator}${at}` : separator;
      if (at !== -1) splits.set(split, (splits.get(split) ?? 0) + 1);
    }
  }

  #findErrorText({ block, from, to }: Scanner): void {
    if (!mayBeginError(block, from)) return;
    const text = this.#beginning(block, from, to);
    if (startsWithError(cellsOf(text, this.#csv.separator, text.includes('"')))) this.errors += 1;
  }

  #beginning(block: Buffer, from: number, to: number): string {
    return decoded(block.subarray(from, Math.min(to, from + ERROR_TEXT_BYTES)), this.#csv.decoder);
  }

  #endBlock(block: Buffer): void {
    if (block.length === 0) return;
    const { scanner, text } = this;
    text.read(block, (place) => {
      const begin = new Scanner(this.#csv.separator, () => undefined);
      begin.breaksAtCr = scanner.breaksAtCr;
      begin.push(block.subarray(0, place + 1));
      begin.end();
      return this.#recordsBefore + begin.records;
    });
    if (scanner.records > this.#recordsBefore) this.#last = this.#beginning(block, scanner.from, scanner.to);
    this.#recordsBefore = scanner.records;
  }
}
