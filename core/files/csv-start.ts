import { createHash } from 'node:crypto';
import type { FieldIndex } from '../columns/header.ts';
import { isPlainLabel } from '../suggestion.ts';
import { csvRecordsIn, type SeenRecord } from './csv-records-in.ts';
import type { Separator } from './csv-scan.ts';
import { hasControls } from './file-kind.ts';

const SEPARATORS: Separator[] = [',', ';', '\t'];

export interface CsvStart {
  separator: Separator;
  /** No other is possible: false for a single column, and where another splits the records as well. */
  separatorProven: boolean;
  /** Length of a first line that only names the separator: `sep=;`. */
  separatorLine: number;
  /** Fields of the first record. */
  width: number;
  /** Records end with a carriage return alone. */
  breaksAtCr: boolean;
  /** The first record names the columns; `null` = not known. */
  headed: boolean | null;
  /** SHA-256 of the first record where it is not known to be a row, and does not name all columns; else `null`. */
  firstRecord: string | null;
  /** All cells of the record name columns, though files have no header. */
  seemsHeaded: boolean;
  /** What it says of the columns, where it names them. */
  names: CsvHeader | null;
}

interface CsvHeader {
  /** Names of the columns as the CRM lists them, '' for a cell without text; `null` where it holds others. */
  header: string[] | null;
  /** It has labels in the place of names. */
  labelled: boolean;
  /** Cells that name no listed column, and those of them that are plain labels. */
  unlisted: number;
  unlistedTexts: string[];
  /** Columns that must not be there. */
  excepted: number;
  /** Places of cells without text. */
  unnamed: number[];
}

export type CsvResult =
  | { result: 'accepted'; csv: CsvStart }
  /** `open`: more of the file has to be seen. */
  | { result: 'open' }
  | { result: 'refused'; fields: number; listed: number };

const SEPARATOR_LINE = /^("?)sep=(.)\1(?:\r\n|\n|\r)/i;
/** Fewer fields could be a sentence, which has commas, too. */
const NARROWEST_WITHOUT_NAMES = 3;
/** The most texts of a header that are named. */
const MOST_TEXTS = 20;
/** Markup and JSON, also behind invisible characters, and in the wrappings of JSON for scripts. */
const OTHER_GRAMMAR = /^[\s\p{C}]*(?:[\w$.]+\s*\(\s*)?[[{<]|^[\s\p{C}]*\)\]\}/u;

/**
 * Recognises the requested CSV file: all names in its first record (at least one) are names or labels of fields; or,
 * from three columns on, its first two records have the requested width. Where files have no header, only their width counts.
 * @param complete whether `text` is the whole file
 */
export function csvStart(text: string, complete: boolean, index: FieldIndex, headerless = false): CsvResult {
  const line = SEPARATOR_LINE.exec(text);
  const separatorLine = line?.[0].length ?? 0;
  const body = text.slice(separatorLine);
  const found = SEPARATORS.filter((separator) => !line || separator === line[2]).map((separator) => {
    const records = firstTwo(body, separator);
    return {
      separator,
      records,
      proof: proofOf(records, { complete, markup: OTHER_GRAMMAR.test(body), index, headerless }),
    };
  });
  const best = found.filter(({ proof }) => proof === 'names').toSorted(byWidth)[0];
  const wide = found.filter(({ proof }) => proof === 'width');
  const accepted = best ?? wide[0];
  const alone = best !== undefined || wide.length === 1;
  if (accepted)
    return { result: 'accepted', csv: describe(accepted, { separatorLine, alone, complete, index, headerless }) };
  if (found.some(({ proof }) => proof === 'open')) return { result: 'open' };
  const cells = found.toSorted(byWidth)[0]?.records[0]?.cells ?? [];
  return { result: 'refused', fields: cells.length, listed: cells.filter(index.isListed).length };
}

type Proof = 'names' | 'width' | 'open' | undefined;

interface Candidate {
  separator: Separator;
  records: SeenRecord[];
  proof: Proof;
}

function byWidth(one: Candidate, other: Candidate): number {
  return (other.records[0]?.cells.length ?? 0) - (one.records[0]?.cells.length ?? 0);
}

interface Circumstances {
  complete: boolean;
  markup: boolean;
  index: FieldIndex;
  headerless: boolean;
}

function proofOf([first, second]: SeenRecord[], circumstances: Circumstances): Proof {
  if (!first) return circumstances.complete ? undefined : 'open';
  if (circumstances.headerless) return widthProof(first, second, circumstances);
  const names = namesProof(first, circumstances);
  return names === 'names' ? names : (widthProof(first, second, circumstances) ?? names);
}

function namesProof(first: SeenRecord, { complete, index }: Pick<Circumstances, 'complete' | 'index'>): Proof {
  const ends = complete || first.lineBreak !== '';
  const cells = ends ? first.cells : first.cells.slice(0, -1);
  const names = cells.filter((cell) => cell.trim() !== '');
  if (!names.every((cell) => isListed(cell, index))) return undefined;
  if (!ends) return index.mayBeListed(first.cells.at(-1) ?? '') ? 'open' : undefined;
  return names.length > 0 && names.length * 2 >= cells.length ? 'names' : undefined;
}

/** What holds another separator may be several cells, of which one is not listed: it names a column only as it is written. */
function isListed(cell: string, index: FieldIndex): boolean {
  return SEPARATORS.some((separator) => cell.includes(separator)) ? index.isExact(cell) : index.isListed(cell);
}

function widthProof(first: SeenRecord, second: SeenRecord | undefined, circumstances: Circumstances): Proof {
  const { complete, markup, headerless, index } = circumstances;
  const records = second ? [first, second] : [first];
  const text = !markup && !records.some(({ cells }) => cells.some(hasControls));
  const ends = ({ lineBreak }: SeenRecord) => complete || lineBreak !== '';
  const fits = records.every((record) =>
    ends(record) ? record.cells.length === index.width : record.cells.length <= index.width,
  );
  const empty = first.cells.every((cell) => cell.trim() === '');
  if (!text || !fits || (empty && ends(first))) return undefined;
  const wide = index.width >= NARROWEST_WITHOUT_NAMES;
  // A narrow row, or a single one, is known by the kind of its data.
  const known = headerless && first.cells.some((cell, place) => isSameData(cell, (second ?? first).cells[place] ?? ''));
  if (!wide && !headerless) return undefined;
  if (second && ends(second)) return wide || known ? 'width' : undefined;
  if (!complete) return 'open';
  return known ? 'width' : undefined;
}

interface Found extends Pick<Circumstances, 'complete' | 'index' | 'headerless'> {
  separatorLine: number;
  /** No other separator proves the file as well. */
  alone: boolean;
}

function describe(candidate: Candidate, { separatorLine, alone, complete, index, headerless }: Found): CsvStart {
  const { separator, records, proof } = candidate;
  const [first, second] = records;
  const cells = first?.cells ?? [];
  const byLook = alone ? headedByLook(cells, second?.cells ?? [], index) : null;
  const headed = headerless ? false : proof === 'names' ? true : byLook;
  const names = headed ? headerOf(cells, index) : null;
  const known = headed === false || (names !== null && names.header !== null);
  return {
    separator,
    separatorProven: separatorLine > 0 || (alone && cells.length > 1),
    separatorLine,
    width: cells.length,
    breaksAtCr: first?.lineBreak === '\r',
    headed,
    firstRecord: known ? null : createHash('sha256').update(JSON.stringify(cells)).digest('hex'),
    seemsHeaded: headerless && first !== undefined && namesProof(first, { complete, index }) === 'names',
    names,
  };
}

function headerOf(cells: readonly string[], index: FieldIndex): CsvHeader {
  const { names, labelled, unlisted, excepted, unnamed } = index.readHeader(cells);
  // The name of a column that must not be there is not repeated either.
  const header = excepted > 0 ? null : names;
  const unlistedTexts = unlisted.filter(isPlainLabel).slice(0, MOST_TEXTS);
  return { header, labelled, unlisted: unlisted.length, unlistedTexts, excepted, unnamed };
}

/** Texts that are never the name of a column: UUIDs, dates, e-mail addresses, telephone numbers. */
const DATA = [
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?$/,
  /^[^\s@]+@[^\s@]+\.[^\s@]+$/,
  /^\+?\d{7,}$/,
];

/** Longer cells are not tested: the patterns would take long. */
const LONGEST_DATA = 320;

/**
 * Whether a first record that holds unlisted texts is a header all the same: yes if half of it is listed; no if a
 * column has the same kind of data as in the second record; else unknown.
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

/** The first two records; empty lines, and those of nothing but the end mark of DOS, are none. */
function firstTwo(text: string, separator: Separator): SeenRecord[] {
  const found: SeenRecord[] = [];
  for (const record of csvRecordsIn(text, separator)) {
    if (record.text.replaceAll('\x1a', '') !== '') found.push(record);
    if (found.length === 2) break;
  }
  return found;
}
