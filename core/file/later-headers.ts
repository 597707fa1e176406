import type { FieldIndex, ListedFields } from '../columns/header.ts';
import { folded, INVISIBLE, isFilled, letterPattern, letters, mentions } from '../folded.ts';
import { cellsOf } from './csv-cells.ts';
import type { Decoder } from './encoding.ts';
import type { Expected } from './expected-file.ts';
import { type CellCounts, NameFilter } from './name-filter.ts';
import { LINE_BREAK, NestedNames } from './nested-names.ts';

/**
 * `leftOut`: a header with a left-out column, or, if columns are left out, with a column that is not listed. `other`:
 * any other header that does not repeat the first.
 */
export type Verdict = 'none' | 'repeated' | 'other' | 'leftOut';

/** A record below the first one, and the column of the header that its first cell belongs to. */
interface LowerRecord {
  record: readonly string[];
  column: number;
  /** The record has another encoding than the file: readers do not drop it if it repeats the header. */
  otherEncoding?: boolean;
}

interface Circumstances {
  /** A cell is empty where the header has a text. */
  lacks: boolean;
  /** An empty line, an empty row of a sheet, or a record without letters and digits is above the record. */
  afterGap?: boolean;
  /** Names in any spelling count as exact, because the same text or digits were removed from all cells. */
  anySpelling?: boolean;
}

/** A record of this length or shorter is a header only if its cells are exact names. */
const EXACT_NAMES = 2;
/** A longer line of a text is not split. The first header of a file has at most 1 MiB. */
const LONGEST_HEADER = 64 * 1024;

/**
 * Finds headers below the first record of a file. They come from pages that were joined, or from a second table, and
 * the values below them may belong to other columns.
 *
 * A record is a header if it repeats the first one, folded, or if a row of this table applies. Rows with "hidden" need
 * columns that are left out or hashed (hidden columns). With such columns, signs and digits around an exact name and a
 * note after it are ignored: `[phone]`, `phone:text`.
 *
 * | cells    | a header if                                                                                      |
 * | -------- | ------------------------------------------------------------------------------------------------ |
 * | 3 and up | all name different fields                                                                        |
 * | 1 or 2   | all are exact names; below an empty line: all name fields, one of them hidden                    |
 * | 3 and up | half name different fields, one of them hidden                                                   |
 * | 2 and up | half name different fields; one more has a hidden name or label among other words; and a cell    |
 * |          | names the column above it, or the other cells, at least two, are all exact names                 |
 * | 3 and up | half repeat the cells above them in the first record, and there are hidden columns               |
 * | 2 and up | one has a hidden name, and a row above applies after removing the text that all begin or end     |
 * |          | with (`lead_id,lead_phone`) or, if all end with a digit, the digits around the names             |
 *
 * If columns are left out, a cell may contain records: a header above a line of as many cells, JSON or XML.
 */
export class LaterHeaders {
  /** `otherHeaders` have other columns, or another order of them. `leftOutHeaders` of them name a left-out column. */
  readonly counts = { repeatedHeaders: 0, otherHeaders: 0, leftOutHeaders: 0 };
  readonly filter: NameFilter;
  /** `null` if no column is left out. */
  readonly nested: NestedNames | null;
  readonly #index: FieldIndex;
  readonly #cells: readonly string[];
  readonly #sparse: boolean;
  readonly #names: ReadonlySet<string>;
  readonly #foldedNames: ReadonlySet<string>;
  /** Names of the columns that tables hash or leave out, folded. */
  readonly #hiddenInTables: ReadonlySet<string>;
  /** Whether columns are left out or hashed: then half of the cells are enough for a header. */
  readonly hides: boolean;
  /** Whether columns are left out: then a header must have listed columns only. */
  readonly #leavesOut: boolean;
  /** Names of left-out or hashed columns that are not words: `nationalId`, `id_number`. */
  readonly #codes: ReadonlySet<string>;
  /** Whether a text contains the name or label of a left-out or hashed column as whole words. */
  readonly #mentions: (text: string) => boolean;
  /** The letters of left-out or hashed names: a quick test before `#mentions`. */
  readonly #letters: RegExp;
  readonly #header: string;
  /**
   * The most cells that a header can have, because at least half of them name different fields, or repeat the first
   * record.
   */
  readonly #widest: number;

  /**
   * @param header the cells of the first record; empty if it is not a header, so that no record can repeat it
   * @param sparse records have no cell where a value is missing, as the rows of a sheet
   */
  constructor(expected: Expected, index: FieldIndex, header: readonly string[], decoder: Decoder, sparse = false) {
    const { columns, fields, excepted, labels, hiddenInTables = [] } = expected;
    this.#index = index;
    this.#cells = header;
    this.#sparse = sparse;
    this.#header = foldedRecord(header);
    this.#names = new Set([...columns, ...[...fields, ...excepted].map(({ name }) => name)]);
    this.#foldedNames = new Set([...this.#names].map(folded));
    this.#hiddenInTables = new Set(
      hiddenInTables.flatMap((entry) => [entry, ...(index.readHeader([entry]).names ?? [])]).map(folded),
    );
    this.#leavesOut = excepted.length > 0;
    this.hides = this.#leavesOut || this.#hiddenInTables.size > 0;
    const textsOf = (all: ListedFields['fields']) => all.flatMap(({ name, label }) => [name, label ?? '']);
    const hashed = fields.filter((field) => textsOf([field]).some((text) => this.#hiddenInTables.has(folded(text))));
    const texts = Object.keys(labels);
    this.#widest = Math.max(header.length, 2 * (columns.length + fields.length + excepted.length + texts.length));
    const hidden = [
      ...textsOf([...excepted, ...hashed]),
      ...hiddenInTables,
      ...texts.filter((text) => this.#isHidden(text)),
    ];
    this.#codes = new Set(hidden.filter((text) => this.#names.has(text) && CODE.test(text)));
    this.#mentions = mentions(hidden);
    this.#letters = letterPattern(hidden);
    const names = [...columns, ...textsOf([...fields, ...excepted]), ...hiddenInTables, ...texts, ...header];
    this.filter = new NameFilter(decoder, names, this.hides);
    const questions = {
      widest: this.#widest,
      isLeftOut: (text: string) => index.readHeader([text]).excepted > 0,
      mayBeHeader: (line: string) => this.#mayMention(line),
      isHeader: (line: readonly string[]) => this.#isHeader(line, { lacks: false }) && this.#kindOf(line) === 'leftOut',
    };
    this.nested = this.#leavesOut ? new NestedNames(textsOf(excepted), decoder, questions) : null;
  }

  /** A quick test that avoids most calls of `judge`. */
  mayBe({ cells, named, empty, alike }: CellCounts): boolean {
    const filled = cells - empty;
    if (filled > this.#widest) return false;
    return (this.hides && alike) || (named > 0 && named * (this.hides ? 2 : 1) >= filled);
  }

  /** Checks a record. @param counts the counts of the scanner for this record */
  judge({ cells, named, empty }: CellCounts, lower: LowerRecord, afterGap = false): Verdict {
    const found = named >= cells - empty ? this.#judge(lower, afterGap) : this.#judgePart(lower, afterGap);
    this.#count(found);
    return found;
  }

  /**
   * Checks the text of a record that has fewer cells than the header, or line breaks of another kind: a joined page may
   * have another separator, other line breaks, or its records in quotation marks. Only columns that are left out or
   * hashed make this necessary: no other check sees them in such a record. The record counts once, and never as
   * repeated: readers drop only records that repeat the header with the separator of the file. A name such as
   * `nationalId` counts even without other names beside it, because free text does not contain it.
   * @param whole the verdict on the whole record, which is already counted
   */
  judgeText(text: string, afterGap: boolean, whole: Verdict): void {
    if (whole === 'leftOut' || !this.#mayMention(text)) return;
    const lines = text.split(LINE_BREAK);
    const found = lines.flatMap((line) => this.#judgeLine(line, lines.length === 1, afterGap));
    if (whole === 'none' && found.some((verdict) => verdict !== 'none')) this.counts.otherHeaders += 1;
    if (found.includes('leftOut')) this.counts.leftOutHeaders += 1;
  }

  /**
   * Checks texts for left-out columns inside of them.
   * @param texts the cells of a whole record, and the text of the record, whose commas may belong to a line of JSON
   * @param whole the verdict on the record itself, which is counted already
   */
  judgeCells(texts: readonly string[], whole: Verdict): void {
    const { nested } = this;
    if (!nested || whole === 'leftOut' || !texts.some((text) => nested.areIn(text))) return;
    if (whole === 'none') this.counts.otherHeaders += 1;
    this.counts.leftOutHeaders += 1;
  }

  /** @param alone whether the text has only this line, which was then already checked as a single cell */
  #judgeLine(line: string, alone: boolean, afterGap: boolean): Verdict[] {
    if (line.length > LONGEST_HEADER || !this.#mayMention(line)) return [];
    const records = alone ? partsOf(line) : [[line], ...partsOf(line)];
    // A separator may consist of two signs. Then every second part is empty.
    const parts = records.filter(({ length }) => length <= 2 * this.#widest);
    const found = parts.map((record) => this.#judgePart({ record, column: 0 }, afterGap));
    const named = line.split(NO_CODE).some((word) => this.#codes.has(word));
    return named ? [...found, this.#leavesOut ? 'leftOut' : 'other'] : found;
  }

  #count(found: Verdict): void {
    if (found === 'repeated') this.counts.repeatedHeaders += 1;
    else if (found !== 'none') this.counts.otherHeaders += 1;
    if (found === 'leftOut') this.counts.leftOutHeaders += 1;
  }

  /**
   * Checks a record in which some cells cannot name a column. Such a record is a header only if it names a left-out or
   * hashed column.
   */
  #judgePart(lower: LowerRecord, afterGap: boolean): Verdict {
    const mayBe = this.#mayMention(lower.record.join(' ')) || this.#repeatsMost(lower);
    return mayBe ? this.#judge(lower, afterGap) : 'none';
  }

  /**
   * Whether at least half of the cells, at least three, name the same columns as the cells of the header above them, or
   * two of three, and the third has no digit.
   */
  #repeatsMost({ record, column }: LowerRecord): boolean {
    if (!this.hides) return false;
    const isRepeated = (cell: string, at: number) =>
      isFilled(cell) && this.#fieldOf(cell) === this.#fieldOf(this.#cells[column + at] ?? '');
    const repeated = record.filter(isRepeated).length;
    const filled = record.filter(isFilled).length;
    const isShort = filled === EXACT_NAMES + 1 && !record.some((cell) => /\d/.test(cell));
    return repeated * 2 >= filled && repeated > (isShort ? 1 : EXACT_NAMES);
  }

  #judge({ record, column, otherEncoding = false }: LowerRecord, afterGap: boolean): Verdict {
    const header = this.#cells;
    const mayRepeat = header.length > 0 && column === 0 && !otherEncoding;
    if (mayRepeat && foldedRecord(record) === this.#header) return 'repeated';
    // A header of a narrower table may be padded with empty cells.
    const isPadded = this.#sparse || this.hides;
    const cells = isPadded ? withoutEmptyEnd(record) : record;
    const filled = isPadded ? cells.filter(isFilled) : cells;
    const first = isPadded ? cells.findIndex(isFilled) : 0;
    const lacks = cells.some((cell, at) => at >= first && !isFilled(cell) && folded(header[column + at] ?? '') !== '');
    if (!this.hides) return this.#isHeader(filled, { lacks }) ? this.#kindOf(filled) : 'none';
    const undecorated = this.#withoutDecoration(filled);
    const isHeader =
      this.#repeatsMost({ record, column }) ||
      this.#isAnnotated(undecorated, cells, column) ||
      this.#isHeader(undecorated, { lacks, afterGap });
    const names = isHeader ? undecorated : this.#alikeNames(filled, { lacks, afterGap });
    return names ? this.#kindOf(names) : 'none';
  }

  #kindOf(header: readonly string[]): Verdict {
    const { excepted, unlisted } = this.#index.readHeader(header);
    return excepted > 0 || (this.#leavesOut && unlisted.length > 0) ? 'leftOut' : 'other';
  }

  #isHeader(cells: readonly string[], { lacks, afterGap, anySpelling }: Circumstances): boolean {
    const { excepted, unlisted, names } = this.#index.readHeader(cells);
    const named = cells.filter((cell) => this.#index.isListed(cell));
    const fields = this.#fieldsOf(named);
    const namesHidden = excepted > 0 || [...fields].some((field) => this.#hiddenInTables.has(field));
    if (cells.length <= EXACT_NAMES && !(namesHidden && afterGap && named.length === cells.length)) {
      const isName = (cell: string) => (anySpelling ? this.#foldedNames.has(folded(cell)) : this.#isName(cell));
      return cells.length > 0 && cells.every(isName);
    }
    // Whether each text names one field, or is configured as a text that names no field.
    const allListed = unlisted.length === 0 && (names !== null || excepted > 0) && !lacks;
    return (allListed && fields.size === named.length) || (namesHidden && fields.size * 2 >= cells.length);
  }

  /**
   * The names in a header whose cells all begin or end with the same text, such as a prefix. That text and the signs
   * around the names are removed; `undefined` if the record is no such header.
   */
  #alikeNames(cells: readonly string[], circumstances: Circumstances): string[] | undefined {
    if (cells.length < 2) return undefined;
    const texts = cells.map(alignedWithLetters);
    const isNumbered = texts.every((text) => /\d$/.test(text));
    // A cell that contains only a number is a value, and stays as it is.
    const bare = texts.map((text) => without(isNumbered ? SIGNS_AND_DIGITS : SIGNS, text) || text);
    const [atBegin, atEnd] = [sharedLength(bare, 0), sharedLength(bare, -1)];
    const tried = new Set<string>();
    for (const cell of bare) {
      for (const { index, 0: match } of letters(cell).matchAll(this.#letters)) {
        const from = Math.min(index, atBegin);
        const to = Math.min(cell.length - index - match.length, atEnd);
        if (tried.has(`${from} ${to}`)) continue;
        tried.add(`${from} ${to}`);
        const inner = bare.map((text) => without(SIGNS, text.slice(from, text.length - to)) || text);
        const names = this.#withoutDecoration(inner);
        if (this.#isHeader(names, { ...circumstances, anySpelling: isNumbered || from + to > 0 })) return names;
      }
    }
    return undefined;
  }

  /**
   * Whether a cell contains the name of a left-out or hashed column, and the other cells show that the record is not
   * free text.
   * @param cells the cells of `record` that have a text
   * @param column the column of the header that the first cell of `record` is in
   */
  #isAnnotated(cells: readonly string[], record: readonly string[], column: number): boolean {
    const others = cells.filter((cell) => !this.#isMention(cell));
    if (others.length === cells.length) return false;
    const named = others.map(withoutNote).filter((cell) => this.#index.isListed(cell));
    if (this.#fieldsOf(named).size * 2 < cells.length) return false;
    const isInPlace = (cell: string, at: number) => {
      const above = this.#cells[column + at] ?? '';
      return isFilled(cell) && !this.#isMention(cell) && this.#fieldOf(withoutNote(cell)) === this.#fieldOf(above);
    };
    return record.some(isInPlace) || (others.length >= EXACT_NAMES && others.every((cell) => this.#isName(cell)));
  }

  #isName(cell: string): boolean {
    return this.#names.has(cell.trim());
  }

  #fieldsOf(named: readonly string[]): ReadonlySet<string> {
    return new Set(named.map((cell) => this.#fieldOf(cell)));
  }

  #mayMention(text: string): boolean {
    return letters(text).search(this.#letters) >= 0;
  }

  #isMention(cell: string): boolean {
    return this.#mayMention(cell) && this.#mentions(cell);
  }

  /** The field that a cell names, or else the text of the cell; folded. */
  #fieldOf(cell: string): string {
    return folded((this.#index.isListed(cell) && this.#index.readHeader([cell]).names?.[0]) || cell);
  }

  #isHidden(text: string): boolean {
    return this.#index.readHeader([text]).excepted > 0 || this.#hiddenInTables.has(this.#fieldOf(text));
  }

  /** Removes signs around exact names and, unless the cell is the only one, notes after them. */
  #withoutDecoration(cells: readonly string[]): string[] {
    return cells.map((cell) => {
      const inner = without(SIGNS, cell);
      const texts = cells.length === 1 ? [inner] : [inner, without(SIGNS, withoutNote(inner))];
      return [cell, ...texts].find((text) => this.#isName(text)) ?? cell;
    });
  }
}

/** Matches signs, digits and list letters before a name, and signs after it. Digits after it may be a value. */
const SIGNS = /^(?:\p{L}[.:] |[^\p{L}\p{M}])+|[^\p{L}\p{M}\p{N}]+$/gu;
const SIGNS_AND_DIGITS = /^[^\p{L}\p{M}]+|[^\p{L}\p{M}]+$/gu;
/** A longer text is not a name. The patterns would take quadratic time for it. */
const LONGEST_NAME = 500;

function without(signs: RegExp, text: string): string {
  return text.length > LONGEST_NAME ? text : text.replace(signs, '');
}

/** The text with the same positions as `letters(text)`. It keeps its letter case unless that changes its length. */
function alignedWithLetters(text: string): string {
  const normalized = text.replace(INVISIBLE, '').normalize('NFKC');
  return normalized.length === letters(text).length ? normalized : letters(text);
}

/**
 * Matches the start of a note after a name: `phone (hidden)`, `phone*`, `phone:text`, a short second line. `phone:050`
 * has a value.
 */
const NOTE = /[([{</|*?]|[:=](?=\p{L})|[\r\n]+(?=[^,.\r\n]{1,40}$)/u;

/** A text without the note after it. */
function withoutNote(text: string): string {
  const at = text.search(NOTE);
  return at > 0 ? text.slice(0, at) : text;
}

/** The number of first or last characters that all texts have in common. @param edge 0 = first, -1 = last */
function sharedLength([first = '', ...others]: readonly string[], edge: 0 | -1): number {
  const at = (text: string, length: number) => text.at(edge === 0 ? length : -1 - length)?.toLowerCase();
  let length = 0;
  while (length < first.length && others.every((text) => at(text, length) === at(first, length))) length += 1;
  return length;
}

/** A name that is not a word of a language. */
const CODE = /\p{Ll}\p{Lu}|\p{L}[\d_]/u;
const NO_CODE = /[^\p{L}\p{M}\p{N}_]+/u;
/** Signs that may separate cells. In a table of text, two blanks may separate cells. */
const SIGN_OR_BLANKS = /[^\p{L}\p{M}\p{N}\p{Z}"']|\p{Z}{2}/gu;
const MOST_SIGNS = 20;

/** Any other sign counts as a separator only between at least three cells: free text contains `email/phone`. */
const USUAL_SEPARATORS = /^[,;\t|:^~\p{Z}]/u;

/** The records that a line may be: the line is split by each kind of sign in it, for the first `MOST_SIGNS` kinds. */
function partsOf(line: string): string[][] {
  const signs = [...new Set(line.match(SIGN_OR_BLANKS))].slice(0, MOST_SIGNS);
  const splits = signs.map((sign) => cellsOf(line, sign, true));
  return splits.filter(({ length }, at) => length > EXACT_NAMES || USUAL_SEPARATORS.test(signs[at] ?? ''));
}

function withoutEmptyEnd(cells: readonly string[]): string[] {
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
}

/** The folded text of a record. Records with equal texts count as repeated. */
export function foldedRecord(cells: readonly string[]): string {
  return JSON.stringify(withoutEmptyEnd(cells.map(folded)));
}
