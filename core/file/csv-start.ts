import { createHash } from 'node:crypto';
import type { FieldIndex } from '../columns/header.ts';
import { type Decoder, type Encoding, hasControls } from './encoding.ts';
import { cellsOf, Scanner, type Separator } from './scanner.ts';

const SEPARATORS: Separator[] = [',', ';', '\t'];

interface CsvStart {
  separator: Separator;
  /** The separator is certain: false for a single column, and if another separator would split the records as well. */
  separatorProven: boolean;
  /** Length of a first line that names only the separator: `sep=;`. */
  separatorLine: number;
  /** Number of title records above the header. */
  rowsAbove: number;
  /** The first record after the titles: the header, if the file has one. */
  first: string[];
  /** The first record names the columns; `null` = not known. */
  headed: boolean | null;
  /** SHA-256 of the first record if it may be a header but does not name all columns; otherwise `null`. */
  firstRecord: string | null;
  /** All cells of the record name columns although files have no header by configuration. */
  seemsHeaded: boolean;
  /** The columns of the header; `null` if the first record is not known to be a header. */
  names: CsvHeader | null;
}

/** What the beginning of a CSV file shows. */
export interface Csv extends CsvStart {
  encoding: Encoding | null;
  decoder: Decoder;
  /** Bytes before the first record: byte order marks and a line that names the separator. */
  skip: number;
  byteOrderMark: boolean;
}

interface CsvHeader {
  /** Names of the columns as the CRM lists them, '' for an empty cell; `null` if a text is unknown or left out. */
  header: string[] | null;
  /** The header has labels in place of names. */
  labelled: boolean;
  /** Cells that name no listed column, and the positions of the first of them, from 1. */
  unlisted: number;
  unlistedPlaces: number[];
  /** Number of left-out columns in the header. */
  excepted: number;
  /** Positions of cells without text. */
  unnamed: number[];
}

export type CsvResult =
  | { result: 'accepted'; csv: CsvStart }
  /** `open`: more of the file may show that it is the requested one. */
  | { result: 'refused'; open: boolean; fields: number; listed: number };

const SEPARATOR_LINE = /^("?)sep=(.)\1(?:\r\n|\n|\r)/i;
/** With fewer fields the text could be a sentence with commas. */
const NARROWEST_WITHOUT_NAMES = 3;
/** The most cells of a header whose positions are reported. */
const MOST_PLACES = 20;
/** The header is one of the first `FIRST_RECORDS` records and names `NAMED_BELOW_TITLES` columns, or all requested. */
const FIRST_RECORDS = 20;
const NAMED_BELOW_TITLES = 3;
/** Markup or JSON, also after invisible characters, and inside a JavaScript call or the prefix `)]}`. */
const OTHER_GRAMMAR = /^[\s\p{C}]*(?:[\w$.]+\s*\(\s*)?[[{<]|^[\s\p{C}]*\)\]\}/u;

/**
 * Recognises the requested CSV file. One of three proofs is enough: all texts of the first record name fields; a record
 * below a few titles is a header; or the first two records have the requested width, which must be at least three. If
 * files have no header by configuration, only the width counts.
 * @param complete whether `text` is the whole file
 */
export function csvStart(text: string, complete: boolean, index: FieldIndex, headerless = false): CsvResult {
  const line = SEPARATOR_LINE.exec(text);
  const separatorLine = line?.[0].length ?? 0;
  const body = text.slice(separatorLine);
  const markup = OTHER_GRAMMAR.test(body);
  const found = SEPARATORS.filter((separator) => !line || separator === line[2]).map((separator) => {
    const records = firstRecords(Buffer.from(body), separator, FIRST_RECORDS, complete);
    return { separator, records, rowsAbove: 0 };
  });
  const widest = (some: Candidate[]) =>
    some.toSorted((one, other) => headOf(other).length - headOf(one).length).slice(0, 1);
  const named = headerless ? [] : widest(found.filter(({ records: [first = []] }) => isHeader(first, index)));
  const below = markup || headerless ? [] : widest(found.flatMap((each) => belowTitles(each, index) ?? []));
  const wide = markup ? [] : found.filter((each) => hasWidth(each, { complete, index, headerless }));
  const [best] = [...named, ...below];
  const accepted = best ?? wide[0];
  const alone = best !== undefined || wide.length === 1;
  if (accepted)
    return { result: 'accepted', csv: describe(accepted, { separatorLine, best, alone, index, headerless }) };
  const cells = widest(found).flatMap(headOf);
  const listed = cells.filter(index.isListed).length;
  return { result: 'refused', open: !complete && !markup, fields: cells.length, listed };
}

interface Candidate {
  separator: Separator;
  /** The first records that have ended. */
  records: string[][];
  /** Titles above the header. */
  rowsAbove: number;
}

const headOf = ({ records, rowsAbove }: Candidate) => records[rowsAbove] ?? [];
const isFilled = (cell: string) => cell.trim() !== '';

/**
 * Finds a header below titles: it names enough listed columns, and each title record has fewer filled cells than it.
 */
function belowTitles(candidate: Candidate, index: FieldIndex): Candidate | undefined {
  const least = Math.min(NAMED_BELOW_TITLES, index.width);
  const rowsAbove = candidate.records.findIndex((cells) => {
    const filled = cells.filter(isFilled);
    if (filled.length < least) return false;
    const { names, listed, excepted } = index.readHeader(cells);
    const several = new Set(names ?? filled).size === (names ?? filled).length;
    return several && listed + excepted >= least && (listed + excepted) * 2 >= filled.length;
  });
  if (rowsAbove < 1) return undefined;
  const width = candidate.records[rowsAbove]?.filter(isFilled).length ?? 0;
  const isTitle = (cells: string[]) =>
    !cells.some(hasControls) && cells.filter(isFilled).length < Math.max(width, NARROWEST_WITHOUT_NAMES);
  return candidate.records.slice(0, rowsAbove).every(isTitle) ? { ...candidate, rowsAbove } : undefined;
}

/** Whether all texts of a record name fields. */
function isHeader(cells: readonly string[], index: FieldIndex): boolean {
  const names = cells.filter(isFilled);
  // A cell that contains another separator may be several cells, one not listed. It must match a name exactly.
  const isListed = (cell: string) =>
    SEPARATORS.some((separator) => cell.includes(separator)) ? index.isExact(cell) : index.isListed(cell);
  return names.length > 0 && names.length * 2 >= cells.length && names.every(isListed);
}

interface Circumstances {
  complete: boolean;
  index: FieldIndex;
  headerless: boolean;
}

/** Whether the first two records have the requested width. A narrow or single row must also look like data. */
function hasWidth({ records }: Candidate, { complete, index, headerless }: Circumstances): boolean {
  const [first = [], second] = records;
  const looked = second ? [first, second] : [first];
  const fits = looked.every((cells) => cells.length === index.width && !cells.some(hasControls));
  if (!fits || !first.some(isFilled) || !(second || complete)) return false;
  if (second && index.width >= NARROWEST_WITHOUT_NAMES) return true;
  return headerless && first.some((cell, place) => isSameData(cell, looked.at(-1)?.[place] ?? ''));
}

interface Found extends Pick<Circumstances, 'index' | 'headerless'> {
  separatorLine: number;
  /** The candidate with a header of known columns. */
  best: Candidate | undefined;
  /** No other separator proves the file as well. */
  alone: boolean;
}

function describe(candidate: Candidate, { separatorLine, best, alone, index, headerless }: Found): CsvStart {
  const { separator, records, rowsAbove } = candidate;
  const cells = headOf(candidate);
  const byLook = alone ? headedByLook(cells, records[rowsAbove + 1] ?? [], index) : null;
  const headed = headerless ? false : best ? true : byLook;
  const names = headed ? headerOf(cells, index) : null;
  const known = headed === false || (names !== null && names.header !== null);
  return {
    separator,
    separatorProven: separatorLine > 0 || (alone && cells.length > 1),
    separatorLine,
    rowsAbove,
    first: cells,
    headed,
    firstRecord: known ? null : digestOf(cells),
    seemsHeaded: headerless && isHeader(cells, index),
    names,
  };
}

/** The SHA-256 of a record. */
export function digestOf(cells: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(cells)).digest('hex');
}

function headerOf(cells: readonly string[], index: FieldIndex): CsvHeader {
  const { names, labelled, unlisted, excepted, unnamed } = index.readHeader(cells);
  // The names of left-out columns are not stored either.
  const header = excepted > 0 ? null : names;
  return { header, labelled, unlisted: unlisted.length, unlistedPlaces: placesOf(unlisted, cells), excepted, unnamed };
}

/** Positions of the given texts in a header, from 1. */
export function placesOf(texts: readonly string[], cells: readonly string[]): number[] {
  const wanted = new Set(texts);
  return cells.flatMap((cell, place) => (wanted.has(cell) ? [place + 1] : [])).slice(0, MOST_PLACES);
}

/** Texts that never name a column: UUIDs, dates, e-mail addresses, telephone numbers. */
const DATA = [
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/,
  /^[^\s@]+@[^\s@]+\.[^\s@]+$/,
  /^\+?\d{7,}$/,
];

/** Longer cells are not tested: the patterns would be slow. */
const LONGEST_DATA = 320;

/**
 * Whether a first record with unlisted texts is a header: true if at least half of its texts are listed; false if a
 * column has the same kind of data as in the second record; otherwise `null`.
 */
export function headedByLook(first: readonly string[], second: readonly string[], index: FieldIndex): boolean | null {
  const listed = first.filter(index.isListed).length;
  if (listed > 1 && listed * 2 >= first.length) return true;
  return first.some((cell, place) => isSameData(cell, second[place] ?? '')) ? false : null;
}

function isSameData(one: string, other: string): boolean {
  if (Math.max(one.length, other.length) > LONGEST_DATA) return false;
  return DATA.some((kind) => kind.test(one) && kind.test(other));
}

/**
 * The first records of a text that have ended.
 * @param complete whether `bytes` is the whole text, so that its end also ends a record
 */
export function firstRecords(bytes: Buffer, separator: Separator, most: number, complete: boolean): string[][] {
  const found: string[][] = [];
  const scanner = new Scanner(separator, ({ block, from, to, quoted }) => {
    if (found.length < most) found.push(cellsOf(block.toString('utf8', from, to), separator, quoted > 0));
  });
  // The size of the pieces doubles, because the scanner reads a record that has not ended again.
  let at = 0;
  for (let piece = FIRST_PIECE; at < bytes.length && found.length < most; piece = at) {
    scanner.push(bytes.subarray(at, at + piece));
    scanner.flush();
    at += piece;
  }
  if (complete) scanner.end();
  return found;
}

const FIRST_PIECE = 4096;
