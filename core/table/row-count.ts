import { TableError } from './table-error.ts';

/** Rows of which something is to be said, and the first of them; the first row behind the header is 1. */
export interface CountedRows {
  count: number;
  row: number;
}

/** Counts rows, those that have fewer fields than the header, and those with values in columns without a name. */
export class RowCount {
  count = 0;
  shortRows: CountedRows | null = null;
  nameless: CountedRows | null = null;
  readonly #width: number;
  /** Fields of the header up to the last one with a name. */
  readonly #named: number;
  readonly #unnamed: number[];
  readonly #covers: boolean;

  /**
   * @param names of the columns; '' for one without a name
   * @param covers whether columns are left out or hashed: their values must be in no other column
   */
  constructor(names: readonly string[], covers: boolean) {
    this.#width = names.length;
    this.#named = names.findLastIndex((name) => name.trim() !== '') + 1;
    this.#unnamed = names.flatMap((name, place) => (name.trim() === '' ? [place] : []));
    this.#covers = covers;
  }

  /**
   * @returns the number of the row
   * @throws TableError where it has values beyond the header, or fewer fields than that and some are covered: which of them belong to which
   * column is not known
   */
  add(record: readonly string[]): number {
    const { length } = record;
    this.count += 1;
    const longer = length > this.#width && record.slice(this.#width).some((field) => field !== '');
    if (longer || (length < this.#named && this.#covers)) {
      throw new TableError(`Row ${this.count} has ${length} fields, the header has ${this.#width}.`);
    }
    if (length < this.#named) this.shortRows = this.#with(this.shortRows);
    if (this.#unnamed.some((place) => record[place])) this.nameless = this.#with(this.nameless);
    return this.count;
  }

  /** The current row is one more of them. */
  #with(rows: CountedRows | null): CountedRows {
    return rows ? { ...rows, count: rows.count + 1 } : { count: 1, row: this.count };
  }

  /** @throws TableError where another number was counted when the file was verified */
  compare(verified: number | null): void {
    if (verified === null || verified === this.count) return;
    throw new TableError(`The file has ${this.count} rows by its quotation marks, ${verified} by its manifest.`);
  }
}
