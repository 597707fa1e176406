import type { FieldIndex } from '../columns/header.ts';
import type { Csv } from './csv-start.ts';
import { isWide, TextCheck, Utf16Reader } from './encoding.ts';
import type { Expected } from './file-kind.ts';
import { cellEnd, decoded, LaterHeaders } from './later-headers.ts';
import { cellsOf, Scanner } from './scanner.ts';

const QUOTE = 0x22;
const BLANK = 0x20;
/** Separators that may split the cells of a file of one column. */
const OTHER_SEPARATORS = [',', ';', '\t', '|'].map((separator) => separator.charCodeAt(0));

/** Counts the records of a CSV file, chunk by chunk. */
export class CsvCount {
  readonly text = new TextCheck();
  readonly scanner: Scanner;
  readonly headers: LaterHeaders;
  /** Records including the header, without titles. */
  records = 0;
  emptyRows = 0;
  /** Records whose width differs from the first record, and how many of these have values beyond its width. */
  irregular = 0;
  longer = 0;
  /** Rows with empty cells beyond the width of the first record. */
  overhanging = 0;
  /** Width of the last record. Empty extra cells and missing unnamed cells do not count. */
  cellsOfLast = 0;
  /** Positions of unnamed columns that have values. */
  readonly valued = new Set<number>();
  /** Rows that look like an error message. */
  errors = 0;

  readonly #csv: Csv;
  readonly #separator: number;
  readonly #width: number;
  /** Number of header cells up to the last one with a text. */
  readonly #named: number;
  readonly #unnamed: ReadonlySet<number>;
  readonly #unnamedInside: boolean;
  readonly #wide: Utf16Reader | null;
  /** Rows that each other separator would split; `null` unless the file has one column and columns are left out. */
  readonly #splits: Map<number, number> | null;
  readonly #looksCloser: boolean;
  #above: number;
  #skip: number;
  #recordsBefore = 0;
  #last = '';
  #lastFrom = 0;
  #lastTo = 0;

  constructor(csv: Csv, expected: Expected, index: FieldIndex) {
    const { separator, decoder, first, names, encoding, skip, headed } = csv;
    this.#csv = csv;
    this.#separator = separator.charCodeAt(0);
    this.#width = first.length;
    const unnamed = names?.unnamed ?? [];
    this.#unnamed = new Set(unnamed);
    this.#named = headed === false ? first.length : first.findLastIndex((cell) => cell.trim() !== '') + 1;
    this.#unnamedInside = unnamed.some((place) => place < this.#named);
    this.#wide = isWide(encoding) ? new Utf16Reader(encoding) : null;
    this.#splits = first.length === 1 && expected.excepted.length > 0 ? new Map() : null;
    this.#looksCloser = unnamed.length > 0 || this.#splits !== null;
    this.#above = csv.rowsAbove;
    this.#skip = skip;
    const header = headed === false ? [] : first;
    this.headers = new LaterHeaders({
      separator,
      decoder,
      header,
      index,
      listed: expected,
      covered: expected.covered ?? [],
    });
    const onRecord = (block: Buffer, from: number, to: number, cells: number, quoted: number, odd: number) =>
      this.#add(block, from, to, cells, quoted, odd);
    const isOdd = (byte: number) => this.headers.isOdd(byte);
    this.scanner = new Scanner(separator, onRecord, (block) => this.#endBlock(block), isOdd);
  }

  /** @throws UnreadableFile */
  push(chunk: Uint8Array): void {
    const bytes = this.#skip > 0 ? chunk.subarray(this.#skip) : chunk;
    this.#skip = Math.max(0, this.#skip - chunk.length);
    this.scanner.push(this.#wide ? this.#wide.read(bytes) : bytes);
  }

  /** @returns whether the text ends in the middle of a character */
  end(): { cut: boolean } {
    this.scanner.end();
    return { cut: this.#wide?.cut ?? false };
  }

  /** The row of the first invalid byte; 0 = the header. */
  get brokenRow(): number | null {
    const { broken } = this.text;
    return broken && Math.max(0, broken.record - this.#csv.rowsAbove - (this.#csv.headed === false ? 0 : 1));
  }

  /** Whether the last row looks like an error message. */
  get endsWithError(): boolean {
    if (this.records < 2) return false;
    const cells = cellsOf(this.#last, this.#csv.separator, this.#last.includes('"')).filter(
      (cell) => cell.trim() !== '',
    );
    return isErrorText(cells[0] ?? '') || cells.filter(isErrorText).length * 2 > cells.length;
  }

  /** Whether another separator would split most rows of a file of one column. */
  get isSplit(): boolean {
    return [...(this.#splits?.values() ?? [])].some((rows) => rows * 2 > this.records - 1);
  }

  #add(block: Buffer, from: number, to: number, cells: number, quoted: number, odd: number): void {
    if (this.#above > 0) {
      this.#above -= 1;
      return;
    }
    this.records += 1;
    this.#lastFrom = from;
    this.#lastTo = to;
    this.cellsOfLast = cells === this.#width ? cells : this.#oddWidth(block, from, to, cells);
    if (to - from - cells + 1 === 2 * quoted) this.emptyRows += 1;
    if (this.headers.mayBe(cells, odd) && this.records > 1) this.headers.look(block, from, to, cells, quoted > 0, odd);
    if (MAY_BEGIN_ERROR[block[from] as number] !== 0) this.#lookForError(block, from, to);
    if (this.#looksCloser && this.records > 1) this.#lookCloser(block, from, to, cells);
  }

  /** @returns the width that the record is counted with */
  #oddWidth(block: Buffer, from: number, to: number, cells: number): number {
    if (cells < this.#width && cells >= this.#named) return this.#width;
    if (cells > this.#width && emptyAtEnd(block, from, to, this.#separator) >= cells - this.#width) {
      this.overhanging += 1;
      return this.#width;
    }
    this.irregular += 1;
    if (cells > this.#width) this.longer += 1;
    return cells;
  }

  #lookCloser(block: Buffer, from: number, to: number, cells: number): void {
    this.#lookForUnnamed(block, from, to, cells);
    if (this.#splits) this.#lookForSplit(block.subarray(from, to), this.#splits);
  }

  #lookForUnnamed(block: Buffer, from: number, to: number, cells: number): void {
    if (this.valued.size === this.#unnamed.size) return;
    const beyond = cells - this.#named;
    const filled = beyond > 0 && emptyAtEnd(block, from, to, this.#separator) < beyond;
    if (!filled && !this.#unnamedInside) return;
    let place = 0;
    for (let at = from; at <= to; place += 1) {
      const end = cellEnd(block, at, to, this.#separator);
      const empty = end === at || (end === at + 2 && block[at] === QUOTE);
      if (!empty && this.#unnamed.has(place)) this.valued.add(place);
      at = end + 1;
    }
  }

  #lookForSplit(record: Uint8Array, splits: Map<number, number>): void {
    for (const separator of OTHER_SEPARATORS) {
      const at = separator === this.#separator ? -1 : record.indexOf(separator);
      // In ordinary text, a space follows a comma.
      if (at !== -1 && record[at + 1] !== BLANK) splits.set(separator, (splits.get(separator) ?? 0) + 1);
    }
  }

  #lookForError(block: Buffer, from: number, to: number): void {
    const at = block[from] === QUOTE ? from + 1 : from;
    if (at + 4 > block.length || !BEGINNINGS.has(block.readUInt32LE(at) | LOWER_CASE) || this.records === 1) return;
    const text = decoded(block.subarray(from, Math.min(to, from + LOOKED_AT)), this.#csv.decoder);
    const [cell = ''] = cellsOf(text, this.#csv.separator, text.startsWith('"'));
    if (isErrorText(cell)) this.errors += 1;
  }

  #endBlock(block: Buffer): void {
    if (block.length === 0) return;
    const { scanner, text } = this;
    const { separator } = this.#csv;
    const before = this.#recordsBefore;
    text.read(block, (place) => {
      const begin = new Scanner(separator, () => undefined);
      begin.breaksAtCr = scanner.breaksAtCr;
      begin.push(block.subarray(0, place + 1));
      begin.end();
      return before + begin.records;
    });
    this.#recordsBefore = scanner.records;
    if (this.#lastTo > 0)
      this.#last = decoded(
        block.subarray(this.#lastFrom, Math.min(this.#lastTo, this.#lastFrom + LOOKED_AT)),
        this.#csv.decoder,
      );
    this.#lastTo = 0;
  }
}

/** Number of empty cells at the end of a record. */
function emptyAtEnd(block: Buffer, from: number, to: number, separator: number): number {
  let count = 0;
  for (let end = to; end >= from; count += 1) {
    const marks = end - 2 >= from && block[end - 1] === QUOTE && block[end - 2] === QUOTE;
    const begin = marks ? end - 2 : end;
    if (begin > from && block[begin - 1] !== separator) break;
    end = begin - 1;
  }
  return count;
}

/** Number of bytes of a record that are searched for an error message. */
const LOOKED_AT = 512;
/** The first four letters of error messages. */
const ERROR_BEGINNINGS = [
  ...['erro', 'fata', 'exce', 'trac', 'caus', 'java', 'inte', 'serv', 'time', 'warn', 'ora-', 'sqls', 'stac', 'at c'],
  ...['at o', 'at j', '    ', '\tat ', 'requ', 'conn', 'gate', 'bad ', 'coul', 'unab', 'resu', 'trun', 'limi', 'abor'],
  ...['fail', 'quer', 'oper', 'sorr', '<htm', '<!do', '<?xm', '<err', '{"er', '{"me', '{"st', '--- ', '*** ', 'proc'],
];
const LOWER_CASE = 0x20202020;
const BEGINNINGS = new Set(ERROR_BEGINNINGS.map((text) => Buffer.from(text).readUInt32LE() | LOWER_CASE));
const MAY_BEGIN_ERROR = Uint8Array.from({ length: 256 }, (_, byte) => {
  const first = ERROR_BEGINNINGS.map((text) => text.charCodeAt(0));
  return byte === QUOTE || first.includes(byte | 0x20) || first.includes(byte) ? 1 : 0;
});
const ERROR_TEXT =
  /\b(?:errors?|exception|traceback|timed out|timeout|truncated|exceeded|aborted|fatal|unavailable|bad gateway|stack ?trace|connection (?:reset|refused)|access denied|unable to|could not|failed to|went wrong)\b|\w(?:Error|Exception)\b|^\s+at [\w.$<>]+[ (]|[\w$]+(?:\.[\w$]+){2,}\([\w.]*:\d+\)|^\s*<(?:!doctype|html|\?xml)/i;

function isErrorText(cell: string): boolean {
  return ERROR_TEXT.test(cell.slice(0, LOOKED_AT));
}
