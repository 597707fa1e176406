import { finished } from 'node:stream/promises';
import { CsvError, type Parser, parse } from 'csv-parse';
import { RunError } from '../errors.ts';
import { FIELD_RULES, type FieldKind } from './customer-fields.ts';
import { type Line, LONGEST_LINE } from './lines.ts';
import {
  isProblem,
  type RecordCheck,
  readUpdates,
  tooLongLine,
  type UpdateEntry,
  type UpdateReader,
} from './read-updates.ts';
import { keepsDigits, numberOf, type Problem, shownName, unknownField } from './update-line.ts';

/**
 * The reader of CSV (RFC 4180, commas, UTF-8, byte order mark optional). The first record names `id` and fields. An
 * empty cell, quoted or not, does not change its field. Unquoted `\N` means `null`. An empty text needs JSON Lines.
 * Reading ends at a misplaced quotation mark, because it is not known where the next record begins.
 */
export const CSV: UpdateReader = (pieces, check) => new CsvReader(check).read(pieces);

type Cells = (string | null)[];

const LINE_BREAK = Buffer.from('\n');

const LONE_CR = 'has a carriage return (CR) without a line feed (LF): save the file with LF or CRLF line breaks';
const TOO_LONG = `${tooLongLine(0).sentence}, or opens a quotation mark that is never closed`;
/** Errors of csv-parse about the text. */
const UNREADABLE: Partial<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE: 'has characters after the closing quotation mark of a cell',
  INVALID_OPENING_QUOTE: 'has a quotation mark inside a cell that does not begin with one',
  CSV_QUOTE_NOT_CLOSED: 'opens a quotation mark that is never closed',
  CSV_MAX_RECORD_SIZE: TOO_LONG,
};

class CsvReader {
  readonly #check: RecordCheck;
  readonly #parser: Parser;
  /** The physical line on which the next record begins. */
  #line = 1;
  #columns: (CsvColumn | null)[] | undefined;
  readonly #entries: UpdateEntry[] = [];
  #hasLoneCr = false;
  /** The rest of the file cannot be read. */
  #stopped = false;

  constructor(check: RecordCheck) {
    this.#check = check;
    this.#parser = parse({
      relax_column_count: true,
      record_delimiter: ['\n', '\r\n'],
      max_record_size: LONGEST_LINE,
      cast: (cell, { quoting }) => {
        if (!quoting && cell.includes('\r')) this.#hasLoneCr = true;
        return !quoting && cell === '\\N' ? null : cell;
      },
      on_record: (cells: Cells) => {
        this.#add(cells);
        // The parser passes no record to its output.
        return null;
      },
    });
    // `read` reports the errors.
    this.#parser.on('error', () => undefined);
  }

  async *read(pieces: AsyncIterable<Line[]>): AsyncGenerator<UpdateEntry[], void> {
    for await (const lines of pieces) {
      const text = Buffer.concat(lines.flatMap(({ bytes }) => [bytes, LINE_BREAK]));
      const error = await new Promise((resolve) => this.#parser.write(text, resolve));
      if (error && !this.#stopped) this.#failed(error);
      yield this.#entries.splice(0);
      if (this.#stopped) return;
    }
    this.#parser.end();
    await finished(this.#parser, { readable: false }).catch((error: unknown) => this.#failed(error));
    yield this.#entries;
  }

  #failed(error: unknown): void {
    const sentence = error instanceof CsvError ? UNREADABLE[error.code] : undefined;
    if (!sentence) throw error;
    this.#stopped = true;
    this.#entries.push({ line: this.#line, field: null, sentence: `${sentence}; reading ended here` });
  }

  #add(cells: Cells): void {
    const line = this.#line;
    // The parser counts a line break of CRLF in a cell twice.
    for (const cell of cells) if (cell?.includes('\n')) this.#line += cell.split('\n').length - 1;
    this.#line += 1;
    const hasLoneCr = this.#hasLoneCr;
    this.#hasLoneCr = false;
    const isEmpty = cells.length === 1 && cells[0] === '';
    if (this.#stopped || isEmpty) return;
    if (hasLoneCr) {
      this.#entries.push({ line, field: null, sentence: LONE_CR });
      this.#stopped = this.#columns === undefined;
    } else if (this.#columns) this.#record(line, cells, this.#columns);
    else this.#header(line, cells);
  }

  #header(line: number, cells: Cells): void {
    const { columns, problems } = readHeader(line, cells);
    // A header of 1 MB has more cells than a call may have arguments.
    for (const problem of problems) this.#entries.push(problem);
    this.#columns = columns ?? [];
    this.#stopped = columns === null;
  }

  #record(line: number, cells: Cells, columns: (CsvColumn | null)[]): void {
    if (cells.length !== columns.length) {
      const sentence = `has ${cells.length} cells where the header has ${columns.length}`;
      this.#entries.push({ line, field: null, sentence });
      return;
    }
    const record = recordOf(cells, columns);
    // The record is sent as JSON, which may be longer than its cells.
    if (Buffer.byteLength(JSON.stringify(record)) > LONGEST_LINE) this.#entries.push(tooLongLine(line));
    else this.#entries.push(...this.#check({ line, from: null, record }));
  }
}

function recordOf(cells: Cells, columns: (CsvColumn | null)[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (let at = 0; at < columns.length; at += 1) {
    const cell = cells[at];
    const column = columns[at];
    if (column && cell !== '' && cell !== undefined) record[column.name] = cell === null ? null : column.read(cell);
  }
  return record;
}

/** A column of a CSV file: `id` or a field. */
interface CsvColumn {
  name: string;
  /** Returns the value of a cell. A text that does not fit the type is returned unchanged, and refused later. */
  read: (cell: string) => unknown;
}

const WHOLE = /^(0|-?[1-9]\d{0,15})$/;

const asWhole = (cell: string) => (WHOLE.test(cell) ? Number(cell) : cell);

/** Values of kinds that are not listed stay text. */
const READERS: Partial<Record<FieldKind, CsvColumn['read']>> = {
  code: asWhole,
  int32: asWhole,
  number: (cell) => (keepsDigits(cell) ? (numberOf(cell) ?? cell) : cell),
  flag: (cell) => (cell === 'true' ? true : cell === 'false' ? false : cell),
};

/**
 * Reads the header. `columns` is `null` if the file is unreadable: `id` is missing, or a name is repeated. A column
 * with an unknown name is `null`.
 */
function readHeader(line: number, cells: Cells): { columns: (CsvColumn | null)[] | null; problems: Problem[] } {
  const problems: Problem[] = [];
  const earlierNames = new Set<string>();
  const names = cells.map((cell) => cell ?? '');
  const columns = names.map((name) => {
    const sentence = wrongColumn(name, earlierNames, names);
    if (sentence) problems.push({ line, field: shownName(name), sentence });
    earlierNames.add(name);
    const read = READERS[FIELD_RULES.get(name)?.[0] ?? 'text'] ?? ((cell: string) => cell);
    return sentence ? null : { name, read };
  });
  if (!earlierNames.has('id')) problems.push({ line, field: 'id', sentence: missingId(names) });
  const readable = earlierNames.has('id') && earlierNames.size === names.length;
  return { columns: readable ? columns : null, problems };
}

function wrongColumn(name: string, earlierNames: Set<string>, names: string[]): string | undefined {
  if (earlierNames.has(name)) return 'is the name of two columns';
  if (name === '') return `is column ${names.indexOf(name) + 1}: each column needs the name of a field`;
  if (name === 'customFields') return 'is a deprecated object, which a cell cannot hold: use JSON Lines';
  return name === 'id' || FIELD_RULES.has(name) ? undefined : unknownField(name);
}

function missingId(names: string[]): string {
  const [only = ''] = names;
  if (names.length === 1 && /[;\t|]/.test(only)) return 'is missing: separate the columns with commas only';
  return 'is missing: the first line names the columns, one of them id';
}

/**
 * Converts a validated CSV file of updates to JSON Lines. A record keeps the line number on which it begins in the
 * CSV: empty lines replace the header and the further lines of a record.
 * @throws RunError `UpdateFileInvalid` if the CSV is not valid: validate it first.
 */
export async function* csvToJsonl(csv: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let line = 1;
  let text = '';
  for await (const entry of readUpdates(CSV, csv, { allowNull: true })) {
    if (isProblem(entry)) {
      throw new RunError(
        'UpdateFileInvalid',
        `Line ${entry.line} of the CSV file is not valid any more: the file has changed since it was checked.`,
      );
    }
    text += `${'\n'.repeat(entry.line - line)}${JSON.stringify(entry.record)}\n`;
    line = entry.line + 1;
    if (text.length < LONGEST_LINE) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}
