import { crc32 } from 'node:zlib';
import { type Changes, changesBetween } from '../../core/columns/changes.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { suggestion } from '../../core/suggestion.ts';
import { tableColumnName } from '../../core/table/columns.ts';
import { CommandError, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { columnsOf } from './columns.ts';
import { failed } from './find.ts';
import { type Manifests, unlessEarlier } from './manifests.ts';
import type { ExportsBucket } from './object.ts';
import { namesOf, recordsOf, refuseUnread } from './read-file.ts';

const DEFAULT_KEY = 'id';

/** How the file of one manifest differs from that of another. */
export interface Difference {
  before: Manifest;
  after: Manifest;
  columns: Changes;
  /** By a key; `null` where none was named, and not both files have a column `id`: then neither was read. */
  rows: (RowChanges & ComparedBy) | null;
}

interface ComparedBy {
  key: string;
  /** What both files have; `null` where the cells are too many to be told apart: then rows are compared whole. */
  compared: string[] | null;
}

/**
 * Reads both files, which are looked at before either is read.
 * @param key the column that identifies a row, as the newer file or its table names it; without one `id`, where both files have it
 * @throws CommandError: 1 where a file cannot be read, is not what its manifest says, or is too large; 2 where it lacks the key
 */
export async function difference(
  target: ExportsBucket,
  before: Manifest,
  after: Manifest,
  key?: string,
): Promise<Difference> {
  const old = namesIn(before);
  const current = namesIn(after);
  const columns = changesBetween(columnsOf(before).columns, columnsOf(after).columns);
  const identifies = asInFile(key ?? DEFAULT_KEY, current);
  if (key === undefined && !(old.includes(identifies) && current.includes(identifies)))
    return { before, after, columns, rows: null };
  const keyIndexes = [keyIndex(before, old, identifies), keyIndex(after, current, identifies)];
  const common = [...new Set(old)].filter((name) => name !== '' && name !== identifies && current.includes(name));
  const compared = mostRows(before) * common.length <= MOST_CELLS ? common : null;
  const rowsIn = (manifest: Manifest, names: string[], key = 0) =>
    rowsOf(target, manifest, { key, cells: common.map((name) => names.indexOf(name)), whole: compared === null });
  const rows = await rowChanges(rowsIn(before, old, keyIndexes[0]), rowsIn(after, current, keyIndexes[1]));
  return { before, after, columns, rows: { ...rows, key: identifies, compared } };
}

/**
 * What readers have instead of a file, or had before it: what is published for its date, else for the date before.
 * @throws CommandError (exit code 1) where that is nothing
 */
export async function publishedBefore(manifests: Manifests, { entity, date, execution }: Manifest): Promise<Manifest> {
  const dates = await manifests.dates(entity);
  for (const one of dates.filter((each) => each <= date).reverse()) {
    const pointer = await unlessEarlier(manifests.pointer(entity, one), printErr);
    const manifest =
      pointer?.execution === execution ? undefined : pointer && (await manifests.manifest(pointer.manifestKey));
    if (manifest) return manifest;
  }
  throw failed(`Nothing of ${entity} is published before ${date}: there is nothing to compare it with.`);
}

/** @throws CommandError (exit code 1) where the columns are not known */
function namesIn(manifest: Manifest): string[] {
  refuseUnread(manifest);
  const { entity, date } = manifest;
  const names = namesOf(manifest);
  if (names !== null) return names;
  throw failed(`The header of the ${entity} of ${date} is not known: no column of it can be compared.`);
}

/** The column as the file writes it, where it is named as its table has it: `idnumber` for `idNumber`. */
function asInFile(column: string, names: string[]): string {
  if (names.includes(column)) return column;
  const [name = column, ...others] = names.filter((each) => tableColumnName(each) === column);
  return others.length === 0 ? name : column;
}

/** The index of the key in a record. @throws CommandError (exit code 2) where there is no such column */
function keyIndex({ entity, date }: Manifest, names: string[], key: string): number {
  const index = names.indexOf(key);
  if (index !== -1) return index;
  throw new CommandError(
    `The ${entity} of ${date} have no column "${key}"${suggestion(key, names)}: name another with --key; peek --columns lists them.`,
    USAGE,
  );
}

function mostRows({ file }: Manifest): number {
  return file.rows ?? file.content?.records ?? 0;
}

interface Reading {
  /** Indexes in a record: of the key, and of the cells that are compared. */
  key: number;
  cells: number[];
  /** All cells as one. */
  whole: boolean;
}

async function* rowsOf(
  target: ExportsBucket,
  manifest: Manifest,
  { key, cells, whole }: Reading,
): AsyncGenerator<KeyedRow> {
  let header = true;
  for await (const record of recordsOf(target, manifest)) {
    const texts = cells.map((each) => record[each] ?? '');
    if (!header) yield { key: record[key] ?? '', cells: whole ? [texts.join('\0')] : texts };
    header = false;
  }
}

/** The most keys that are kept in memory: as many UUIDs take 510 MB, with fingerprints of 20 columns 640 MB. */
const MOST_KEYS = 2_000_000;

const BEFORE = 1;
const AFTER = 2;
/** In the number that is kept for a key, above both. */
const ROW = 4;

/** A row of a file: its key, and its cells of the columns that are compared. */
interface KeyedRow {
  key: string;
  cells: string[];
}

/** How many rows of each file. */
interface PerFile {
  before: number;
  after: number;
}

/** How the rows of two files differ, by a key. */
interface RowChanges {
  added: string[];
  removed: string[];
  /** Keys that both files have. */
  kept: number;
  /** Those of them whose rows differ in a compared column. */
  changed: string[];
  /** In how many rows each compared column differs, in their order. */
  columns: number[];
  /** Rows whose key an earlier row of the same file has, and rows without a key: neither is compared. */
  repeated: PerFile;
  empty: PerFile;
}

/**
 * Compares the rows of two files in one pass over each. Of a row its key and a fingerprint of each cell are kept.
 * @param most how many different keys are compared
 * @throws CommandError (exit code 1) where there are more, or more cells than memory is meant for
 */
export async function rowChanges(
  before: AsyncIterable<KeyedRow>,
  after: AsyncIterable<KeyedRow>,
  most = MOST_KEYS,
): Promise<RowChanges> {
  const comparison = new Comparison(most);
  for await (const row of before) comparison.before(row);
  for await (const row of after) comparison.after(row);
  return comparison.result();
}

class Comparison {
  private readonly most: number;
  private readonly known = new Map<string, number>();
  private readonly prints = new Fingerprints();
  private readonly repeated: PerFile = { before: 0, after: 0 };
  private readonly empty: PerFile = { before: 0, after: 0 };
  private readonly changed: string[] = [];
  private readonly columns: number[] = [];

  constructor(most: number) {
    this.most = most;
  }

  before({ key, cells }: KeyedRow): void {
    if (key === '') this.empty.before += 1;
    else if (this.known.has(key)) this.repeated.before += 1;
    else this.note(key, this.prints.add(cells) * ROW + BEFORE);
    if (this.prints.cells > MOST_CELLS) throw tooMany(MOST_CELLS, 'cells');
  }

  after({ key, cells }: KeyedRow): void {
    const value = this.known.get(key) ?? 0;
    if (key === '') this.empty.after += 1;
    else if ((value & AFTER) !== 0) this.repeated.after += 1;
    else {
      this.note(key, value | AFTER);
      if (value !== 0) this.compare(key, this.prints.differing(Math.floor(value / ROW), cells));
    }
  }

  result(): RowChanges {
    const { known, changed, columns, repeated, empty } = this;
    const added: string[] = [];
    const removed: string[] = [];
    for (const [key, value] of known) {
      if (value % ROW === BEFORE) removed.push(key);
      else if (value % ROW === AFTER) added.push(key);
    }
    return { added, removed, kept: known.size - removed.length - added.length, changed, columns, repeated, empty };
  }

  private compare(key: string, differing: number[]): void {
    if (differing.length > 0) this.changed.push(key);
    for (const column of differing) this.columns[column] = (this.columns[column] ?? 0) + 1;
  }

  private note(key: string, value: number): void {
    this.known.set(key, value);
    if (this.known.size > this.most) throw tooMany(this.most, 'different keys');
  }
}

function tooMany(most: number, what: string): CommandError {
  return new CommandError(
    `The files have more than ${most.toLocaleString('en-US')} ${what}: compare them with DuckDB.`,
    RUN_FAILED,
  );
}

/** 400 MB of fingerprints. */
const MOST_CELLS = 100_000_000;
const ROWS_IN_A_BLOCK = 4096;

/** Four bytes for each cell of a row: of two texts that differ, one pair in four billion is taken for equal. */
class Fingerprints {
  private readonly blocks: Uint32Array[] = [];
  private rows = 0;
  private width = 0;

  get cells(): number {
    return this.rows * this.width;
  }

  /** All rows have as many cells as the first. @returns the number of the row */
  add(cells: string[]): number {
    const row = this.rows;
    this.rows += 1;
    this.width = cells.length;
    const { block, at } = this.place(row);
    for (const [column, cell] of cells.entries()) block[at + column] = crc32(cell);
    return row;
  }

  /** The columns in which a row differs from these cells. */
  differing(row: number, cells: string[]): number[] {
    const { block, at } = this.place(row);
    return cells.flatMap((cell, column) => (block[at + column] === crc32(cell) ? [] : [column]));
  }

  private place(row: number): { block: Uint32Array; at: number } {
    const number = Math.floor(row / ROWS_IN_A_BLOCK);
    this.blocks[number] ??= new Uint32Array(ROWS_IN_A_BLOCK * this.width);
    return { block: this.blocks[number], at: (row % ROWS_IN_A_BLOCK) * this.width };
  }
}
