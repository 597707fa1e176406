import { isUtf8 } from 'node:buffer';
import { RunError } from '../errors.ts';
import { FIELD_RULES, type FieldKind } from './customer-fields.ts';
import { type LineBlock, LONGEST_LINE } from './line-blocks.ts';
import {
  createRecordCheck,
  isProblem,
  notUtf8,
  type RecordCheck,
  readUpdateBlocks,
  tooLongLine,
  type UpdateEntry,
  type UpdateReader,
} from './read-updates.ts';
import { keepsDigits, numberOf, type Problem, shownName, unknownField } from './update-line.ts';

const LF = 0x0a;
/** A record with more characters is measured as JSON, as it is sent: a character takes at most 6 bytes. */
const WORTH_MEASURING = LONGEST_LINE / 8;

/**
 * The reader of CSV (RFC 4180, commas, UTF-8, byte order mark optional). The first record names `id` and fields. An
 * empty cell, quoted or not, does not change its field. Unquoted `\N` means `null`. An empty text needs JSON Lines.
 */
export const CSV: UpdateReader = { format: 'csv', open: (rules) => new CsvReader(createRecordCheck(rules)) };

class CsvReader {
  readonly #cells = new CsvCells();
  readonly #check: RecordCheck;
  #columns: (CsvColumn | null)[] | undefined;
  stopped = false;

  constructor(check: RecordCheck) {
    this.#check = check;
  }

  get line(): number {
    return this.#cells.line;
  }

  read({ bytes, from, tooLong }: LineBlock, to: UpdateEntry[]): void {
    if (tooLong) {
      this.#tooLong(to);
      return;
    }
    if (!isUtf8(bytes)) to.push(...wrongLines(bytes, this.#cells.nextLine));
    // Cells without unreadable characters are checked as well.
    const text = bytes.toString('utf8');
    this.#add(this.#cells.read(from === 0 ? text.replace(/^\uFEFF/, '') : text, false), to);
    if (this.#cells.waiting > LONGEST_LINE) this.#tooLong(to);
  }

  end(to: UpdateEntry[]): void {
    if (!this.stopped) this.#add(this.#cells.read('', true), to);
  }

  #tooLong(to: UpdateEntry[]): void {
    this.stopped = true;
    const { sentence, ...rest } = tooLongLine(this.#cells.line);
    to.push({ ...rest, sentence: `${sentence}, or opens a quotation mark that is never closed; reading ended here` });
  }

  #add(records: Iterable<CsvRecord>, to: UpdateEntry[]): void {
    for (const record of records) {
      if (this.stopped) return;
      if (this.#columns) this.#record(record, this.#columns, to);
      else this.#header(record, to);
    }
  }

  #header(record: CsvRecord, to: UpdateEntry[]): void {
    const { columns, problems } = readHeader(record);
    to.push(...problems);
    this.#columns = columns ?? [];
    this.stopped = columns === null;
  }

  #record({ line, cells, wrong }: CsvRecord, columns: (CsvColumn | null)[], to: UpdateEntry[]): void {
    if (wrong) {
      to.push({ line, field: null, sentence: wrong });
    } else if (cells.length !== columns.length) {
      const sentence = `has ${cells.length} cells where the header has ${columns.length}`;
      to.push({ line, field: null, sentence });
    } else {
      const record = recordOf(cells, columns);
      if (isTooLong(cells, record)) to.push(tooLongLine(line));
      else this.#check({ line, from: null, record }, to);
    }
  }
}

function recordOf(cells: (string | null)[], columns: (CsvColumn | null)[]): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (let at = 0; at < columns.length; at += 1) {
    const cell = cells[at];
    const column = columns[at];
    if (column && cell !== '' && cell !== undefined) record[column.name] = cell === null ? null : column.read(cell);
  }
  return record;
}

function isTooLong(cells: (string | null)[], record: object): boolean {
  let characters = 0;
  for (const cell of cells) characters += cell?.length ?? 0;
  return characters > WORTH_MEASURING && Buffer.byteLength(JSON.stringify(record)) > LONGEST_LINE;
}

/** The physical lines of a block that are not UTF-8. */
function wrongLines(bytes: Buffer, first: number): Problem[] {
  const wrong: Problem[] = [];
  let line = first;
  for (let at = 0; at < bytes.length; line += 1) {
    const found = bytes.indexOf(LF, at);
    const end = found === -1 ? bytes.length : found;
    if (!isUtf8(bytes.subarray(at, end))) wrong.push(notUtf8(line));
    at = end + 1;
  }
  return wrong;
}

/** A column of a CSV file: `id` or a field. */
interface CsvColumn {
  name: string;
  /** The value of a cell. Text that does not fit the type is returned as it is, and refused later. */
  read: (cell: string) => unknown;
}

const WHOLE = /^(0|-?[1-9]\d{0,15})$/;

const asWhole = (cell: string) => (WHOLE.test(cell) ? Number(cell) : cell);

/** Values of all other kinds stay text. */
const READERS: Partial<Record<FieldKind, CsvColumn['read']>> = {
  code: asWhole,
  int32: asWhole,
  number: (cell) => (keepsDigits(cell) ? (numberOf(cell) ?? cell) : cell),
  flag: (cell) => (cell === 'true' ? true : cell === 'false' ? false : cell),
};

/** `columns` is `null`, and the file unreadable, if `id` is missing or a name is repeated. Unknown ones are `null`. */
function readHeader({ line, cells, wrong }: CsvRecord): {
  columns: (CsvColumn | null)[] | null;
  problems: Problem[];
} {
  if (wrong) return { columns: null, problems: [{ line, field: null, sentence: wrong }] };
  const problems: Problem[] = [];
  const seen = new Set<string>();
  const names = cells.map((cell) => cell ?? '');
  const columns = names.map((name) => {
    const sentence = wrongColumn(name, seen, names);
    if (sentence) problems.push({ line, field: shownName(name), sentence });
    seen.add(name);
    const read = READERS[FIELD_RULES.get(name)?.kind ?? 'text'] ?? ((cell: string) => cell);
    return sentence ? null : { name, read };
  });
  if (!seen.has('id')) problems.push({ line, field: 'id', sentence: missingId(names) });
  const readable = seen.has('id') && seen.size === names.length;
  return { columns: readable ? columns : null, problems };
}

function wrongColumn(name: string, seen: Set<string>, names: string[]): string | undefined {
  if (seen.has(name)) return 'is the name of two columns';
  if (name === '') return `is column ${names.indexOf(name) + 1}: each column needs the name of a field`;
  if (name === 'customFields') return 'is an object, which a cell cannot hold: use JSON Lines (and it is deprecated)';
  return name === 'id' || FIELD_RULES.has(name) ? undefined : unknownField(name);
}

function missingId(names: string[]): string {
  const [only = ''] = names;
  if (names.length === 1 && /[;\t|]/.test(only)) return 'is missing: columns are separated by commas, nothing else';
  return 'is missing: the first line names the columns, one of them id';
}

/** A record of a CSV file, or the error in its form. */
export interface CsvRecord {
  /** Physical line on which it begins, from 1. */
  line: number;
  /** `null` is the cell `\N` without quotation marks. */
  cells: (string | null)[];
  wrong: string | null;
}

/** A quoted cell, its closing quotation mark if there is one, or a plain cell. */
const CELL = /"([^"]*(?:""[^"]*)*)("?)|[^",\r\n]*/y;

const AFTER_QUOTE = 'has characters behind the closing quotation mark of a cell';
const INSIDE = 'has a quotation mark inside a cell that does not begin with one';
const LONE_CR = 'has a carriage return (CR) without a line feed (LF): save the file with LF or CRLF line breaks';
const NEVER_CLOSED = 'opens a quotation mark that is never closed';

/**
 * Cuts the text of a CSV file into records and cells: strict RFC 4180. Line breaks are LF or CRLF, empty lines are not
 * records. After a malformed record, reading continues with the next line. With csv-parse 7.0.3 one misplaced closing
 * quotation mark (`"a" ,b`) loses every line up to the next quotation mark. Its errors quote cells, and with
 * `relax_quotes` it accepts malformed records. A property test compares the two.
 */
export class CsvCells {
  #text = '';
  /** The physical line on which the next record begins. */
  line = 1;

  /** Number of characters of an incomplete record. */
  get waiting(): number {
    return this.#text.length;
  }

  /** The physical line on which the text of the next `read` begins. */
  get nextLine(): number {
    return this.line + countBreaks(this.#text);
  }

  /** @param last whether this is the end of the file. */
  *read(text: string, last: boolean): Generator<CsvRecord> {
    const all = this.#text + text;
    let at = 0;
    this.#text = '';
    while (at < all.length) {
      const { cells, wrong, end, closed } = recordAt(all, at);
      const complete = closed && all[end - 1] === '\n';
      if (!complete && !last) break;
      const { line } = this;
      this.line += countBreaks(all.slice(at, end)) + (complete ? 0 : 1);
      at = end;
      if (cells.length > 1 || cells[0] !== '' || wrong) yield { line, cells, wrong };
    }
    this.#text = all.slice(at);
  }
}

interface Found extends Pick<CsvRecord, 'cells' | 'wrong'> {
  /** Where the next record begins. */
  end: number;
  /** Whether every quotation mark that was opened is closed. */
  closed: boolean;
}

function recordAt(text: string, begin: number): Found {
  const cells: (string | null)[] = [];
  for (let at = begin; ; at += 1) {
    CELL.lastIndex = at;
    const match = CELL.exec(text);
    const plain = match?.[0] ?? '';
    const quoted = match?.[1];
    at += plain.length;
    if (match?.[2] === '') return { cells, wrong: NEVER_CLOSED, end: text.length, closed: false };
    cells.push(quoted?.replaceAll('""', '"') ?? (plain === '\\N' ? null : plain));
    if (text[at] === ',') continue;
    const end = text.indexOf('\n', at) + 1 || text.length;
    return { cells, wrong: faultBehind(text.slice(at, end), quoted !== undefined), end, closed: true };
  }
}

/** @param rest of the line after the last cell */
function faultBehind(rest: string, quoted: boolean): string | null {
  if (rest === '\n' || rest === '\r\n' || rest === '') return null;
  if (rest.startsWith('\r')) return LONE_CR;
  return quoted ? AFTER_QUOTE : INSIDE;
}

function countBreaks(text: string): number {
  let breaks = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) breaks += 1;
  return breaks;
}

/**
 * Converts a validated CSV file of updates to JSON Lines. A record keeps the line number on which it begins in the
 * CSV: empty lines replace the header and the further lines of a record.
 * @throws RunError `FileRejected` if the CSV is not valid: validate it first.
 */
export async function* csvToJsonl(csv: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let line = 1;
  for await (const { entries } of readUpdateBlocks(CSV, csv, { allowNull: true })) {
    let text = '';
    for (const entry of entries) {
      if (isProblem(entry)) {
        throw new RunError(
          'FileRejected',
          `Line ${entry.line} of the CSV file is not valid; it was when the file was checked.`,
        );
      }
      text += `${'\n'.repeat(entry.line - line)}${JSON.stringify(entry.record)}\n`;
      line = entry.line + 1;
    }
    if (text !== '') yield Buffer.from(text);
  }
}
