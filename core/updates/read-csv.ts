import { isUtf8 } from 'node:buffer';
import { CsvCells, type CsvRecord } from './csv-cells.ts';
import { type CsvColumn, readHeader } from './csv-columns.ts';
import { LONGEST_LINE, lineBlocks } from './line-blocks.ts';
import type { Problem } from './problems.ts';
import { notUtf8, tooLongLine } from './read-jsonl.ts';
import type { UpdateBlock, UpdateReader } from './read-updates.ts';
import { createRecordCheck, type RecordCheck, type UpdateEntry } from './record-check.ts';
import type { LineRules } from './update-line.ts';

const LF = 0x0a;
/** Characters from which a record is measured as JSON, as it is sent: a character takes 6 bytes at most. */
const WORTH_MEASURING = LONGEST_LINE / 8;

/**
 * Reads CSV (RFC 4180, UTF-8 with or without byte order mark, commas). The first record names the columns: `id` and fields. An
 * empty cell, quoted or not, leaves its field alone; `\N` without quotation marks means `null`; an empty text needs JSON Lines.
 * Never throws for the content of the file.
 */
async function* readCsv(bytes: AsyncIterable<Uint8Array>, rules: LineRules): AsyncGenerator<UpdateBlock> {
  const reader = new CsvReader(rules);
  for await (const block of lineBlocks(bytes)) {
    const entries = block.tooLong ? reader.tooLong() : reader.read(block.bytes, block.from === 0);
    yield { entries, lines: reader.line - 1 };
    if (reader.stopped) break;
  }
  const entries = reader.end();
  yield { entries, lines: reader.line - 1 };
}

/** The reader of CSV files for `readUpdates`. */
export const CSV: UpdateReader = { format: 'csv', read: readCsv };

class CsvReader {
  readonly #cells = new CsvCells();
  readonly #check: RecordCheck;
  #columns: (CsvColumn | null)[] | undefined;
  /** Whether the rest of the file cannot be read. */
  stopped = false;

  constructor(rules: LineRules) {
    this.#check = createRecordCheck(rules);
  }

  get line(): number {
    return this.#cells.line;
  }

  read(bytes: Buffer, first: boolean): UpdateEntry[] {
    const entries: UpdateEntry[] = isUtf8(bytes) ? [] : wrongLines(bytes, this.#cells.nextLine);
    // An unreadable character leaves the cells around it readable: they are checked too.
    const text = bytes.toString('utf8');
    this.#add(this.#cells.read(first ? text.replace(/^\uFEFF/, '') : text, false), entries);
    if (this.#cells.waiting > LONGEST_LINE) entries.push(...this.tooLong());
    return entries;
  }

  tooLong(): Problem[] {
    this.stopped = true;
    const { sentence, ...rest } = tooLongLine(this.#cells.line);
    return [{ ...rest, sentence: `${sentence}, or opens a quotation mark that is never closed; reading ended here` }];
  }

  end(): UpdateEntry[] {
    const entries: UpdateEntry[] = [];
    if (!this.stopped) this.#add(this.#cells.read('', true), entries);
    return entries;
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
      else this.#check(line, null, record, to);
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
