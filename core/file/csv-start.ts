import { createHash } from 'node:crypto';
import { type FieldIndex, fieldIndex } from '../columns/header.ts';
import type { WrongPart } from '../errors.ts';
import { isFilled } from '../folded.ts';
import type { Content } from '../gate/facts.ts';
import { cellsOf, SEPARATORS, type Separator } from './csv-cells.ts';
import { type Decoder, type Encoding, hasControls, isWide, type TextStart } from './encoding.ts';
import type { Expected } from './expected-file.ts';
import { MOST_CELLS, Scanner } from './scanner.ts';
import { UnreadableFile } from './unreadable-file.ts';

/** Facts from the beginning of a CSV file. */
export interface Csv {
  encoding: Encoding | null;
  decoder: Decoder;
  byteOrderMark: boolean;
  separator: Separator;
  /**
   * Whether the separator is certain: not for a single column, or if another separator would also split the records.
   */
  separatorProven: boolean;
  /** Whether the first line only names the separator: `sep=;`. */
  separatorLine: boolean;
  /** Bytes before the first record: byte order marks and a line that names the separator. */
  skip: number;
  /** Number of title records above the header. */
  rowsAbove: number;
  /** The first record after the titles: the header, if the file has one. */
  first: string[];
  header: Header;
  /** Whether all cells of the first record name columns, although `columns.header` says that files have no header. */
  seemsHeaded: boolean;
}

/** A text that is not the requested CSV file. `open`: more bytes may prove that it is. */
interface OtherText {
  description: string;
  open: boolean;
  /** `header` if the records have the requested width, so that only the header may be wrong. */
  part?: WrongPart | undefined;
}

/** The first line, if it names only the separator. */
const SEPARATOR_LINE = /^("?)sep=(.)\1(?:\r\n|\n|\r)/i;
/** With fewer fields the text could be a sentence with commas. */
const NARROWEST_WITHOUT_NAMES = 3;
/** How many first records may be the header. A header with unlisted texts must name at least `FEWEST_NAMED` columns. */
export const FIRST_RECORDS = 20;
const FEWEST_NAMED = 3;
/** Matches the start of markup or JSON, also after invisible characters, a JavaScript call or the prefix `)]}`. */
const OTHER_GRAMMAR = /^[\s\p{C}]*(?:[\w$.]+\s*\(\s*)?[[{<]|^[\s\p{C}]*\)\]\}/u;

/**
 * Recognises the requested CSV file. One of three proofs is enough: all texts of the first record name fields; most texts
 * of the first record, or of one below a few titles, name fields; or the first two records have the requested width, which
 * must be at least three. If files have no header by configuration, only the width counts.
 * @param complete whether `start` is the whole file
 */
export function csvStart(start: TextStart, complete: boolean, expected: Expected): Csv | OtherText {
  const index = fieldIndex(expected);
  const { headerless } = expected;
  const [line = '', , named] = SEPARATOR_LINE.exec(start.text) ?? [];
  const body = Buffer.from(start.text.slice(line.length));
  const markup = OTHER_GRAMMAR.test(start.text.slice(line.length));
  const found = SEPARATORS.filter((separator) => line === '' || separator === named).map((separator) => ({
    separator,
    ...firstRecords(body, separator, FIRST_RECORDS, complete),
    rowsAbove: 0,
  }));
  const best = headerless ? undefined : withHeader(found, index, markup);
  const wide = markup ? [] : found.filter((each) => hasWidth(each, complete, index, headerless));
  const accepted = best ?? wide[0];
  if (!accepted) return otherText(found, index, !complete && !markup);
  const alone = best !== undefined || wide.length === 1;
  const first = headOf(accepted);
  const byShape = alone ? headedByShape(first, accepted.records[accepted.rowsAbove + 1] ?? [], index) : null;
  const headed = best ? true : byShape;
  return {
    encoding: start.encoding,
    decoder: start.decoder,
    byteOrderMark: start.markBytes > 0,
    separatorLine: line !== '',
    skip: bytesAbove(start, true),
    separator: accepted.separator,
    separatorProven: line !== '' || (alone && first.length > 1),
    rowsAbove: accepted.rowsAbove,
    first,
    header: headerOf(first, headerless ? false : headed, index),
    seemsHeaded: headerless && isHeader(first, index),
  };
}

/** Bytes before the first record: byte order marks and a line that names the separator. */
export function bytesAbove({ encoding, markBytes, text }: TextStart, hasSeparatorLine: boolean): number {
  const [line = ''] = (hasSeparatorLine && SEPARATOR_LINE.exec(text)) || [];
  return markBytes + line.length * (isWide(encoding) ? 2 : 1);
}

/**
 * The candidate whose header has the most cells. A header in the first record takes precedence over a header below
 * titles.
 */
function withHeader(found: Candidate[], index: FieldIndex, markup: boolean): Candidate | undefined {
  const named = widest(found.filter(({ records: [first = []] }) => isHeader(first, index)));
  // A single text may be a title, although it is also the label of a column.
  const isCertain = headOf(named).filter(isFilled).length >= Math.min(2, index.width);
  if (markup || (named && isCertain)) return named;
  return widest(found.flatMap((each) => belowTitles(each, index) ?? [])) ?? named;
}

function otherText(found: Candidate[], { isListed, width }: FieldIndex, open: boolean): OtherText {
  const tooWide = `text with a record of more than ${MOST_CELLS.toLocaleString('en-US')} fields`;
  if (found.some((each) => each.tooWide)) return { open, description: tooWide };
  const cells = headOf(widest(found));
  if (cells.length === 0)
    return { open, description: open ? 'text whose first record does not end' : 'text without a record' };
  const many = cells.length === 1 ? 'one field' : `${cells.length} fields`;
  const listed = cells.filter(isListed).length;
  const description = `text whose first record has ${many}, ${listed} of them listed by the CRM; ${width} were requested`;
  return { open, description, part: cells.length === width ? 'header' : undefined };
}

interface Candidate {
  separator: Separator;
  /** The first complete records; empty if one of them has too many cells. */
  records: string[][];
  tooWide: boolean;
  /** The number of titles above the header. */
  rowsAbove: number;
}

const headOf = (candidate: Candidate | undefined) => candidate?.records[candidate.rowsAbove] ?? [];
const widest = (some: Candidate[]): Candidate | undefined =>
  some.toSorted((one, other) => headOf(other).length - headOf(one).length)[0];

/**
 * Whether at least half of the texts of a record name fields, and the record has at least three texts, or as many as
 * were requested. If all texts are listed, but several empty cells are between them, they are titles of groups.
 */
export function namesMost(cells: readonly string[], index: FieldIndex): boolean {
  const least = Math.min(FEWEST_NAMED, index.width);
  const filled = cells.filter(isFilled);
  if (filled.length < least) return false;
  const { names, listed, excepted, unnamed } = index.readHeader(cells);
  if (names && (unnamed[1] ?? cells.length) < cells.findLastIndex(isFilled)) return false;
  const texts = names?.filter((name) => name !== '') ?? filled;
  return new Set(texts).size === texts.length && listed + excepted >= least && (listed + excepted) * 2 >= filled.length;
}

/**
 * Finds a header in the first record or below titles. Most cells of a header name columns. Each title above it has fewer
 * filled cells than the header; one may have as many or more if it cannot be a record.
 */
function belowTitles(candidate: Candidate, index: FieldIndex): Candidate | undefined {
  const rowsAbove = candidate.records.findIndex((cells) => namesMost(cells, index));
  // A sentence with commas may look like a first record with few names.
  if (rowsAbove < (index.width < FEWEST_NAMED ? 1 : 0)) return undefined;
  const above = candidate.records.slice(0, rowsAbove);
  const [header = [], below = []] = candidate.records.slice(rowsAbove);
  const least = Math.max(header.filter(isFilled).length, NARROWEST_WITHOUT_NAMES);
  const wide = above.filter((cells) => cells.filter(isFilled).length >= least);
  // Unlike a title, a record has values like those below it. Both may have dates.
  const isValue = (cell: string, at: number) => !/^\d{4}-/.test(cell) && isSameData(cell, below[at] ?? '');
  const isWord = (cell: string, at: number) =>
    !/\d{5}/.test(cell) && !isValue(cell, at) && index.meaningOf(cell).kind !== 'excepted';
  const isData = (cell: string, at: number) => /^\d+$/.test(cell) || (at === 0 && isSameData(cell, cell));
  const isText = (cell = '') => /^(?!\P{L}+$)\D+$/u.test(cell);
  const hasWords = (cells: string[]) => below.some((cell, at) => isData(cell, at) && isText(cells[at]));
  const [line = [], ...more] = wide.filter((cells) => !(cells.every(isWord) && hasWords(cells)));
  // In a sentence, a blank and a word follow each comma. Several such lines may be records, and so may one of numbers.
  const isSentence = more.length === 0 && line.slice(1).every((cell) => /^ .*\p{L}/u.test(cell));
  return isSentence && !above.flat().some(hasControls) ? { ...candidate, rowsAbove } : undefined;
}

/** Whether all texts of a record name fields. */
function isHeader(cells: readonly string[], index: FieldIndex): boolean {
  const names = cells.filter(isFilled);
  // A title that a program has padded with empty cells has fewer texts than a header.
  const last = names.length < Math.min(FEWEST_NAMED, index.width) ? cells.length - 1 : cells.findLastIndex(isFilled);
  // A cell with another separator may be several cells, some of them unlisted. It must match a name exactly.
  const isListed = (cell: string) =>
    SEPARATORS.some((separator) => cell.includes(separator)) ? index.isExact(cell) : index.isListed(cell);
  return names.length > 0 && names.length * 2 > last && names.every(isListed);
}

/**
 * Whether the first two records have one cell for each requested column. If these columns are few, or the file has only
 * one record, a cell must also look like data.
 */
function hasWidth({ records }: Candidate, complete: boolean, { width }: FieldIndex, headerless: boolean): boolean {
  const [first = [], second] = records;
  const compared = second ? [first, second] : [first];
  const fits = compared.every((cells) => cells.length === width && !cells.some(hasControls));
  if (!fits || !first.some(isFilled) || !(second || complete)) return false;
  if (second && width >= NARROWEST_WITHOUT_NAMES) return true;
  return headerless && first.some((cell, place) => isSameData(cell, compared.at(-1)?.[place] ?? ''));
}

/** Facts from the first record of a file about its columns. */
export interface Header {
  /** The columns as the CRM names them, '' for an empty cell; `null` if a text is not listed or is left out. */
  names: string[] | null;
  /** Positions of cells without text. */
  unnamed: readonly number[];
  /** The index by which texts are found as names. The search for headers in later records uses it too. */
  index: FieldIndex;
  counts: Pick<Content, 'width' | 'headed' | 'firstRecord' | 'moved' | 'unlisted' | 'unlistedPlaces' | 'excepted'>;
}

/** The most cells of a header whose positions are reported. */
const MOST_PLACES = 20;

/** @param headed the record names the columns; `null` = not known */
export function headerOf(cells: readonly string[], headed: boolean | null, index: FieldIndex): Header {
  const { names, unlisted, excepted, unnamed } = index.readHeader(cells);
  const isCertain = headed === false || (headed && names !== null);
  const texts = new Set(unlisted);
  const places = headed ? cells.flatMap((cell, place) => (texts.has(cell) ? [place + 1] : [])) : [];
  return {
    names: headed ? names : null,
    unnamed: headed === false ? [] : unnamed,
    index,
    counts: {
      width: cells.length,
      headed,
      firstRecord: isCertain ? null : createHash('sha256').update(JSON.stringify(cells)).digest('hex'),
      moved: isCertain ? 0 : cells.filter(index.isMoved).length,
      unlisted: headed ? unlisted.length : null,
      unlistedPlaces: places.slice(0, MOST_PLACES),
      excepted: headed ? excepted : null,
    },
  };
}

/** Texts that never name a column: UUIDs, dates, e-mail addresses, telephone numbers. */
const DATA = [
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/,
  /^[^\s@]+@[^\s@]+\.[^\s@]+$/,
  /^\+?\d{7,}$/,
];

/** Longer cells are not tested, because the patterns would be slow for them. */
const LONGEST_DATA = 320;

/**
 * Whether a first record with unlisted texts is a header: true if at least half of its texts are listed; false if a
 * column has the same kind of data as in the second record; otherwise `null`.
 */
export function headedByShape(first: readonly string[], second: readonly string[], index: FieldIndex): boolean | null {
  const listed = first.filter(index.isListed).length;
  if (listed > 1 && listed * 2 >= first.length) return true;
  return first.some((cell, place) => isSameData(cell, second[place] ?? '')) ? false : null;
}

function isSameData(one: string, other: string): boolean {
  if (Math.max(one.length, other.length) > LONGEST_DATA) return false;
  return DATA.some((kind) => kind.test(one) && kind.test(other));
}

/** The size of the first piece. Each piece doubles what was read, because the scanner reads an incomplete record again. */
const FIRST_PIECE = 4096;

/**
 * The first complete records of a text.
 * @param complete whether `bytes` is the whole text, so that its end also ends a record
 */
function firstRecords(
  bytes: Buffer,
  separator: Separator,
  most: number,
  complete: boolean,
): Pick<Candidate, 'records' | 'tooWide'> {
  const found: string[][] = [];
  const scanner = new Scanner(separator, ({ block, from, to, quoted }) => {
    if (found.length < most) found.push(cellsOf(block.toString('utf8', from, to), separator, quoted > 0));
  });
  try {
    for (let [at, end] = [0, FIRST_PIECE]; at < bytes.length && found.length < most; [at, end] = [end, 2 * end]) {
      scanner.push(bytes.subarray(at, end));
      scanner.flush();
    }
    if (complete) scanner.end();
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return { records: [], tooWide: true };
  }
  return { records: found, tooWide: false };
}
