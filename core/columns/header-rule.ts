import { folded } from '../folded.ts';
import type { FieldIndex, ListedFields } from './header.ts';

/** What the records below a header are compared with. */
export interface KnownColumns {
  listed: ListedFields;
  /** Columns that tables hash or leave out, as the settings name them. */
  covered: readonly string[];
}

/** `leftOut`: a header that names a column that is left out. `other`: any other header. */
export type Verdict = 'none' | 'other' | 'leftOut';

/** Shorter records are headers only if their cells are exact names. */
export const EXACT_NAMES = 2;

/**
 * Tells whether a record below the first header is a header, of a file of any kind. The values below it may belong to other
 * columns.
 *
 * A record is a header if each of its three or more cells names another field; or if its one or two cells are exact names; or,
 * where columns are left out or hashed, if half of its cells name different fields and one of them is such a column.
 */
export class HeaderRule {
  /** Columns are left out or hashed: half of the cells may make a header. */
  readonly covers: boolean;
  /** Names of the columns that tables hash or leave out, folded. */
  readonly covered: ReadonlySet<string>;
  readonly #index: FieldIndex;
  readonly #names: ReadonlySet<string>;

  constructor({ listed: { columns, fields, excepted }, covered }: KnownColumns, index: FieldIndex) {
    this.#index = index;
    this.#names = new Set([...columns, ...fields.map(({ name }) => name), ...excepted.map(({ name }) => name)]);
    this.covered = new Set(covered.flatMap((entry) => [entry, ...(index.readHeader([entry]).names ?? [])]).map(folded));
    this.covers = excepted.length > 0 || this.covered.size > 0;
  }

  /** @param lacks a cell is empty where that of the first header is not */
  judge(cells: readonly string[], lacks: boolean): Verdict {
    const { excepted, unlisted, names } = this.#index.readHeader(cells);
    const known = unlisted.length === 0 && (names !== null || excepted > 0) && !lacks;
    if (!this.#isHeader(cells, known, excepted > 0)) return 'none';
    return excepted > 0 ? 'leftOut' : 'other';
  }

  /** @param known each cell names one field, or none */
  #isHeader(cells: readonly string[], known: boolean, leftOut: boolean): boolean {
    if (cells.length <= EXACT_NAMES) return cells.length > 0 && cells.every((cell) => this.#names.has(cell.trim()));
    const { isListed, readHeader } = this.#index;
    const named = cells.filter(isListed);
    const fields = new Set(named.map((cell) => folded(readHeader([cell]).names?.[0] || cell)));
    if (known && fields.size === named.length) return true;
    const covers = leftOut || [...fields].some((field) => this.covered.has(field));
    return covers && fields.size * 2 >= cells.length;
  }
}
