/** A record of a CSV file, or what is wrong with its form. */
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
 * Cuts the text of a CSV file into records and cells: RFC 4180, strictly; line breaks are LF or CRLF, empty lines are no records.
 * A malformed record costs its line only. With csv-parse 7.0.3 one misplaced closing quotation mark (`"a" ,b`) costs every line up to
 * the next quotation mark of the file, however many; its errors quote cells, and with `relax_quotes` it takes what is malformed. A
 * property test compares the two.
 */
export class CsvCells {
  #text = '';
  /** The physical line on which the next record begins. */
  line = 1;

  /** Characters of a record whose end has not come yet. */
  get waiting(): number {
    return this.#text.length;
  }

  /** The physical line on which the next text begins. */
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

/** @param rest of the line behind the last cell */
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
