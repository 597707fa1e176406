import { CommandError, RUN_FAILED } from '../../support/exit.ts';
import { Fingerprints, MOST_CELLS } from './fingerprints.ts';

/** The most keys that are kept in memory: as many UUIDs take 510 MB, with fingerprints of 20 columns 640 MB. */
const MOST_KEYS = 2_000_000;

const BEFORE = 1;
const AFTER = 2;
/** In the number that is kept for a key, above both. */
const ROW = 4;

/** A row of a file: its key, and its cells of the columns that are compared. */
export interface KeyedRow {
  key: string;
  cells: string[];
}

/** How many rows of each file. */
interface PerFile {
  before: number;
  after: number;
}

/** How the rows of two files differ, by a key. */
export interface RowChanges {
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
