import { TableError } from './table-error.ts';

/** Rows of which something is to be said, and the first of them; the first row behind the header is 1. */
export interface CountedRows {
  count: number;
  row: number;
}

/** Counts rows, and those that have fewer fields than the header. */
export class RowCount {
  count = 0;
  shortRows: CountedRows | null = null;
  readonly #width: number;
  readonly #covers: boolean;

  /**
   * @param width fields of the header
   * @param covers whether columns are left out or hashed: their values must be in no other column
   */
  constructor(width: number, covers: boolean) {
    this.#width = width;
    this.#covers = covers;
  }

  /**
   * @returns the number of the row
   * @throws TableError where it has more fields than the header, or fewer and some are covered: which of them belong to which
   * column is not known
   */
  add({ length }: readonly string[]): number {
    this.count += 1;
    if (length > this.#width || (length < this.#width && this.#covers)) {
      throw new TableError(`Row ${this.count} has ${length} fields, the header has ${this.#width}.`);
    }
    if (length < this.#width) {
      this.shortRows ??= { count: 0, row: this.count };
      this.shortRows.count += 1;
    }
    return this.count;
  }

  /** @throws TableError where another number was counted when the file was verified */
  compare(verified: number | null): void {
    if (verified === null || verified === this.count) return;
    throw new TableError(`The file has ${this.count} rows by its quotation marks, ${verified} by its manifest.`);
  }
}
