import { type FieldIndex, type ListedFields, type Meaning, remembered } from '../columns/header.ts';
import { folded, INVISIBLE, isFilled, letters } from '../folded.ts';
import { cellsOf } from './csv-cells.ts';
import type { Decoder } from './encoding.ts';
import type { Expected } from './expected-file.ts';
import { HiddenNames } from './hidden-names.ts';
import { type CellCounts, NameFilter } from './name-filter.ts';

/**
 * `leftOut`: a header with a left-out column, or, if columns are left out, with a column that is not listed. `other`:
 * any other header that does not repeat the first.
 */
export type Verdict = 'none' | 'repeated' | 'other' | 'leftOut';

/** A record below the first one, and the column of the header that its first cell belongs to. */
interface LowerRecord {
  record: readonly string[];
  column: number;
  /** Readers of records do not drop the record, even if it repeats the header. */
  isKept?: boolean;
}

interface Circumstances {
  /** A cell is empty where the header has a text. */
  lacks: boolean;
  /** An empty line, an empty row of a sheet, or a record without letters and digits is above the record. */
  afterGap?: boolean;
  /** Names in any spelling count as exact, because the same text or digits were removed from all cells. */
  anySpelling?: boolean | undefined;
}

/** A cell of a record below the first one. */
interface LowerCell {
  text: string;
  /** If columns are hidden: the text without signs around an exact name and without a note after it. */
  name: string;
  /** The cell of the first record in the same column. */
  above: string;
}

/** A record of this length or shorter is a header only if its cells are exact names. */
const EXACT_NAMES = 2;
/** A longer line of a text is not split. The first header of a file has at most 1 MiB. */
const LONGEST_HEADER = 64 * 1024;

/**
 * Finds headers below the first record of a file. They come from pages that were joined, or from a second table, and
 * the values below them may belong to other columns.
 *
 * A record is a header if it repeats the first one, folded, or if a row of this table applies. The lower rows need
 * columns that are left out or hashed (hidden columns). With such columns, signs and digits around an exact name and a
 * note after it are ignored: `[phone]`, `phone:text`.
 *
 * | cells    | a header if                                                                                      |
 * | -------- | ------------------------------------------------------------------------------------------------ |
 * | 3 and up | all name different fields                                                                        |
 * | 1 or 2   | all are exact names                                                                              |
 * | 1 or 2   | all name fields, one of them hidden, below an empty line                                         |
 * | 3 and up | half name different fields, one of them hidden                                                   |
 * | 2 and up | a row above applies after removing the text that all begin or end with (`lead_id,lead_phone`)    |
 * |          | or, if all end with a digit, the digits around the names, and one has a hidden name              |
 * | 3 and up | half, at least three, name the columns that they are in; or two of three, if there is no digit   |
 * | 2 and up | half name different fields; one more has a hidden name or label among other words; and a cell    |
 * |          | names the column that it is in, or the other cells, at least two, are all exact names            |
 *
 * If columns are left out, a cell may contain records: a header above a line of as many cells, JSON or XML.
 */
export class LaterHeaders {
  /** `otherHeaders` have other columns, or another order of them. `leftOutHeaders` of them name a left-out column. */
  readonly counts = { repeatedHeaders: 0, otherHeaders: 0, leftOutHeaders: 0 };
  readonly filter: NameFilter;
  /** Whether columns are hidden: then half of the cells are enough for a header. */
  readonly hides: boolean;
  /** Finds cells that may contain records with a left-out column; `null` if no column is left out. */
  readonly nested: HiddenNames | null;
  readonly #index: FieldIndex;
  readonly #cells: readonly string[];
  readonly #header: string;
  readonly #sparse: boolean;
  readonly #names: ReadonlySet<string>;
  readonly #foldedNames: ReadonlySet<string>;
  /** Names of the columns that tables hash or leave out, folded. */
  readonly #hiddenInTables: ReadonlySet<string>;
  readonly #hidden: HiddenNames;
  /** What a cell names. `field`: the field that it names, or else its text; folded. */
  readonly #read: (cell: string) => { kind: Meaning['kind']; field: string; isNamed: boolean; isHidden: boolean };
  /** Whether a text contains records with a left-out column. */
  readonly #nests = remembered((text) => this.#hasKey(unescaped(text)) || this.#isPage(text));
  /** Names of hidden columns that are not words of a language: `nationalId`, `id_number`. */
  readonly #codes: ReadonlySet<string>;
  /** Whether columns are left out: then a header must have listed columns only. */
  readonly #leavesOut: boolean;
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
    this.#header = foldedRecord(header);
    this.#sparse = sparse;
    this.#names = new Set([...columns, ...[...fields, ...excepted].map(({ name }) => name)]);
    this.#foldedNames = new Set([...this.#names].map(folded));
    const fieldsInTables = hiddenInTables.map((entry) => index.meaningOf(entry).name || entry);
    this.#hiddenInTables = new Set([...hiddenInTables, ...fieldsInTables].map(folded));
    this.#read = remembered((cell) => {
      const { kind, name } = index.meaningOf(cell);
      const field = folded(name || cell);
      const isNamed = kind !== 'unnamed' && kind !== 'unlisted';
      return { kind, field, isNamed, isHidden: isNamed && (kind === 'excepted' || this.#hiddenInTables.has(field)) };
    });
    this.#leavesOut = excepted.length > 0;
    this.hides = this.#leavesOut || hiddenInTables.length > 0;
    const configured = Object.keys(labels);
    const isInTables = (text: string) => this.#hiddenInTables.has(folded(text));
    const hiddenTexts = [
      ...textsOf([...excepted, ...fields.filter((field) => textsOf([field]).some(isInTables))]),
      ...[...hiddenInTables, ...configured.filter((text) => this.#read(text).isHidden)],
    ];
    this.#hidden = new HiddenNames(hiddenTexts, decoder);
    this.nested = this.#leavesOut ? this.#hidden : null;
    this.#codes = new Set(hiddenTexts.filter((text) => this.#names.has(text) && CODE.test(text)));
    this.#widest = Math.max(header.length, 2 * (columns.length + fields.length + excepted.length + configured.length));
    const names = [...columns, ...textsOf([...fields, ...excepted]), ...hiddenInTables, ...configured, ...header];
    this.filter = new NameFilter(decoder, names, this.hides);
  }

  /** A quick test that avoids most calls of `judge`. */
  mayBe({ cells, named, empty, alike }: CellCounts): boolean {
    const filled = cells - empty;
    if (filled > this.#widest) return false;
    if (this.#cells.length > EXACT_NAMES && named >= this.#cells.length - 1) return true;
    return (this.hides && alike) || (named > 0 && named * (this.hides ? 2 : 1) >= filled);
  }

  /**
   * Judges the text of a record that has fewer cells than the header, or line breaks of another kind: a joined page may
   * have another separator, other line breaks, or its records in quotation marks. Only hidden columns make this
   * necessary: no other check sees them in such a record. A name such as `nationalId` counts even without other names
   * beside it, because free text does not contain it.
   */
  judgeText(text: string, afterGap: boolean): Verdict {
    if (!this.#hidden.mayMention(unescaped(text))) return 'none';
    const lines = text.split(LINE_BREAK);
    const found = lines.flatMap((line) => this.#judgeLine(line, afterGap));
    return strongest([...found, this.judgeCells([text])]);
  }

  /**
   * Judges texts by left-out columns inside of them.
   * @param texts the cells of a whole record, and the text of the record, whose commas may belong to a line of JSON
   */
  judgeCells(texts: readonly string[]): Verdict {
    if (!this.nested) return 'none';
    return texts.some((text) => MAY_NEST.test(text) && this.#nests(text)) ? 'leftOut' : 'none';
  }

  /** Counts a record once. @param found all verdicts on the record */
  count(found: readonly Verdict[]): void {
    const verdict = strongest(found);
    if (verdict === 'repeated') this.counts.repeatedHeaders += 1;
    else if (verdict !== 'none') this.counts.otherHeaders += 1;
    if (verdict === 'leftOut') this.counts.leftOutHeaders += 1;
  }

  #judgeLine(line: string, afterGap: boolean): Verdict[] {
    if (line.length > LONGEST_HEADER || !this.#hidden.mayMention(line)) return [];
    const records = [[line], ...splitsOf(line).map(({ cells }) => cells)];
    // A separator may consist of two signs. Then every second part is empty.
    const parts = records.filter(({ length }) => length <= 2 * this.#widest);
    const found = parts.map((record) => this.judge({ record, column: 0, isKept: true }, afterGap));
    const hasCode = line.split(NO_CODE).some((word) => this.#codes.has(word));
    return hasCode ? [this.#leavesOut ? 'leftOut' : 'other'] : found;
  }

  /** Whether a left-out column is a key of JSON, or an element or attribute of XML, in a cell. */
  #hasKey(cell: string): boolean {
    for (const [, ...found] of cell.matchAll(KEYS)) {
      const name = found.join('');
      if (!WORD.test(name) && this.#index.meaningOf(name).kind === 'excepted') return true;
    }
    return false;
  }

  /** Whether a cell has a header with a left-out column, and a line with as many cells below the header. */
  #isPage(cell: string): boolean {
    const lines = cell.split(LINE_BREAK);
    return lines.some((line, at) => {
      const below = lines[at + 1];
      if (below === undefined || !this.#hidden.mayMention(line)) return false;
      return splitsOf(line).some(({ sign, cells }) => {
        const isAsWide = cells.length <= this.#widest && cellsOf(below, sign, true).length === cells.length;
        // In ordinary text, a space follows a comma.
        const isText = cells.some((text) => text.startsWith(' '));
        return isAsWide && !isText && this.#readHeader(cells, { lacks: false }) === 'leftOut';
      });
    });
  }

  /** Judges a record. */
  judge({ record, column, isKept = false }: LowerRecord, afterGap: boolean): Verdict {
    const repeats = column === 0 && foldedRecord(record) === this.#header;
    if (repeats) return isKept ? 'other' : 'repeated';
    // A header of a narrower table may be padded with empty cells.
    const isPadded = this.#sparse || this.hides;
    const [first, last] = isPadded ? [record.findIndex(isFilled), record.findLastIndex(isFilled)] : [0, record.length];
    const all = record.map((text, at) => ({ text, at, above: this.#cells[column + at] ?? '' }));
    const inside = all.slice(Math.max(first, 0), last + 1);
    const lacks = inside.some(({ text, above }) => !isFilled(text) && folded(above) !== '');
    const filled = isPadded ? all.filter(({ text }) => isFilled(text)) : all;
    const nameOf = (text: string) => (this.hides ? this.#withoutDecoration(text, filled.length > 1) : text);
    const cells = filled.map(({ text, above }) => ({ text, above, name: nameOf(text) }));
    const names = cells.map(({ name }) => name);
    const found = this.#readHeader(names, { lacks, afterGap });
    const verdict = found === 'none' && this.hides ? this.#judgeHidden(cells, { lacks, afterGap }) : found;
    // Last, because the first name may be that of a hidden column: `nationalId` ends with `id`.
    return verdict === 'none' && this.#isAfterCut(record) ? 'other' : verdict;
  }

  /** Whether the header of a page follows a row that was cut off, so that its first name is the end of a cell. */
  #isAfterCut(record: readonly string[]): boolean {
    const [first = '', ...others] = this.#cells;
    const [cell = '', ...after] = record.slice(-this.#cells.length);
    return others.length > 1 && folded(cell).endsWith(folded(first)) && foldedRecord(after) === foldedRecord(others);
  }

  /** Judges a record by the other rules for hidden columns. @param cells those with a text */
  #judgeHidden(cells: readonly LowerCell[], circumstances: Circumstances): Verdict {
    const names = cells.map(({ name }) => name);
    const texts = cells.map(({ text }) => text);
    const ownColumns = cells.filter((cell) => this.#namesOwnColumn(cell)).length;
    const isShort = cells.length === EXACT_NAMES + 1 && !texts.some((text) => /\d/.test(text));
    if (ownColumns > (isShort ? 1 : EXACT_NAMES) && ownColumns * 2 >= cells.length) return this.#kindOf(names);
    if (!this.#hidden.mayMention(texts.join(' '))) return 'none';
    return this.#isAnnotated(cells) ? this.#kindOf(names) : this.#readAlike(texts, circumstances);
  }

  /** The kind of a header. */
  #kindOf(header: readonly string[]): Verdict {
    const kinds = header.map((cell, place) => this.#index.meaningOf(cell, place).kind);
    return kinds.includes('excepted') || (this.#leavesOut && kinds.includes('unlisted')) ? 'leftOut' : 'other';
  }

  /** Judges cells as names, without regard to the record that they are in. */
  #readHeader(cells: readonly string[], { lacks, afterGap, anySpelling }: Circumstances): Verdict {
    const read = cells.map(this.#read);
    const named = read.filter(({ isNamed }) => isNamed);
    const different = new Set(named.map(({ field }) => field)).size;
    const hides = named.some(({ isHidden }) => isHidden);
    if (cells.length <= EXACT_NAMES && !(hides && afterGap && named.length === cells.length)) {
      return cells.length > 0 && cells.every((cell) => this.#isName(cell, anySpelling)) ? this.#kindOf(cells) : 'none';
    }
    const isWhole = read.every(({ kind }) => kind !== 'unlisted') && !lacks && different === named.length;
    return isWhole || (hides && different * 2 >= cells.length) ? this.#kindOf(cells) : 'none';
  }

  /** Judges cells by the names in them, if all cells begin or end with the same text, such as a prefix. */
  #readAlike(cells: readonly string[], circumstances: Circumstances): Verdict {
    if (cells.length < 2) return 'none';
    const texts = cells.map(alignedWithLetters);
    const isNumbered = texts.every((text) => /\d$/.test(text));
    // A cell that contains only a number is a value, and stays as it is.
    const bare = texts.map((text) => without(isNumbered ? SIGNS_AND_DIGITS : SIGNS, text) || text);
    const [atBegin, atEnd] = [sharedLength(bare, 0), sharedLength(bare, -1)];
    const tried = new Set<string>();
    for (const cell of bare) {
      for (const { index, 0: match } of letters(cell).matchAll(this.#hidden.pattern)) {
        const from = Math.min(index, atBegin);
        const to = Math.min(cell.length - index - match.length, atEnd);
        if ((tried.size >= MOST_LONG && cell.length - from - to > LONGEST_NAME) || tried.has(`${from} ${to}`)) continue;
        tried.add(`${from} ${to}`);
        const anySpelling = isNumbered || from + to > 0;
        const inner = bare.map((text) => without(SIGNS, text.slice(from, text.length - to)) || text);
        const names = inner.map((text) => this.#withoutDecoration(text, true));
        const found = this.#readHeader(names, { ...circumstances, anySpelling });
        if (found !== 'none') return found;
      }
    }
    return 'none';
  }

  #namesOwnColumn({ text, above }: LowerCell): boolean {
    return isFilled(above) && this.#read(withoutNote(text)).field === this.#read(above).field;
  }

  /** Whether a cell has a hidden name among other words, and the other cells show that the record is not free text. */
  #isAnnotated(cells: readonly LowerCell[]): boolean {
    const others = cells.filter(({ name }) => !this.#hidden.isMention(name));
    if (others.length === cells.length) return false;
    const named = others.map(({ name }) => this.#read(withoutNote(name))).filter(({ isNamed }) => isNamed);
    if (new Set(named.map(({ field }) => field)).size * 2 < cells.length) return false;
    const areExact = others.length >= EXACT_NAMES && others.every(({ name }) => this.#isName(name));
    return areExact || others.some((cell) => this.#namesOwnColumn(cell));
  }

  #isName(cell: string, anySpelling = false): boolean {
    return anySpelling ? this.#foldedNames.has(folded(cell)) : this.#names.has(cell.trim());
  }

  /** A text without signs around an exact name and, if `notes` are allowed, a note after it. */
  #withoutDecoration(cell: string, notes: boolean): string {
    if (!MAY_BE_DECORATED.test(cell)) return cell;
    const inner = without(SIGNS, cell);
    const texts = notes ? [cell, inner, without(SIGNS, withoutNote(inner))] : [cell, inner];
    return texts.find((text) => this.#isName(text)) ?? cell;
  }
}

const textsOf = (fields: ListedFields['fields']) => fields.flatMap(({ name, label }) => [name, label ?? '']);

const STRONGEST_FIRST: Verdict[] = ['leftOut', 'repeated', 'other'];
const strongest = (found: readonly Verdict[]) => STRONGEST_FIRST.find((verdict) => found.includes(verdict)) ?? 'none';

/** Matches signs, digits and list letters before a name, and signs after it. Digits after it may be a value. */
const SIGNS = /^(?:\p{L}[.:] |[^\p{L}\p{M}])+|[^\p{L}\p{M}\p{N}]+$/gu;
const SIGNS_AND_DIGITS = /^[^\p{L}\p{M}]+|[^\p{L}\p{M}]+$/gu;
/** A quick test for signs around a name and a note after it. */
const MAY_BE_DECORATED = /^[^\p{L}\p{M}]|^\p{L}[.:] |[([{</|*?:=\r\n]|[^\p{L}\p{M}\p{N}]$/u;
/** A longer text is a name only before blanks or a note. Patterns and many loops would take quadratic time for it. */
const LONGEST_NAME = 500;
const MOST_LONG = 3;

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
const NOTE = /[([{</|*?]|[:=](?=\p{L})|(?<![\r\n])[\r\n]+(?=[^,.\r\n]{1,40}$)/u;

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
function splitsOf(line: string): { sign: string; cells: string[] }[] {
  const signs = [...new Set(line.match(SIGN_OR_BLANKS))].slice(0, MOST_SIGNS);
  const splits = signs.map((sign) => ({ sign, cells: cellsOf(line, sign, true) }));
  return splits.filter(({ sign, cells: { length } }) => length > EXACT_NAMES || USUAL_SEPARATORS.test(sign));
}

/** Matches a text that may contain JSON, XML or several lines. */
const MAY_NEST = /[{<\r\n]/;
const LINE_BREAK = /[\r\n\x85\u2028\u2029]+/;
/**
 * Matches a key of JSON, also of JSON inside a JSON text, the end tag of an XML element, or an attribute. Other texts
 * have braces and quotation marks elsewhere.
 */
const KEYS = /[{,]\s*\\*["']((?:[^"'{,\\\n]|\\.){1,100}?)\\*["']\s*:|<\/([^\s<>]{1,100})>|\s([\w.:-]{1,100})=\\*["']/g;
/** Matches an ordinary word, such as `title`: as a key inside a cell, it does not show that a column is there. */
const WORD = /^[A-Z]?[a-z]+$/;

/** The text with the letters that programs escape in JSON: `\u05d0`. */
function unescaped(text: string): string {
  return text.replace(/(?<!\\)\\+u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** The folded text of a record without its empty end. Records with equal texts count as repeated. */
export function foldedRecord(cells: readonly string[]): string {
  return cells.map(folded).join('\n').trimEnd();
}
