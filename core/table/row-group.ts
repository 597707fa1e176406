import type { ColumnSource } from 'hyparquet-writer';
import type { TableSettings } from '../config/table-settings.ts';
import { type Reader, readerOf, type Value } from './column-types.ts';
import type { TableColumn } from './columns.ts';
import type { CountedRows } from './row-count.ts';
import { TableError } from './table-error.ts';

/** Values of a column that did not fit its type, and are none in the table. */
export interface Misfits extends CountedRows {
  column: string;
  type: string;
}

/** A row group is in memory as a whole: characters of its fields, with what each value takes besides. */
const GROUP_SIZE = 4 * 1024 * 1024;
const VALUE_OVERHEAD = 8;
/** What describes the columns of all row groups is in memory until the end: of many columns there are fewer groups. */
const GROUP_SIZE_PER_COLUMN = 32 * 1024;
/** The least and the largest value of every row group are in memory until the end; not those of columns with longer ones. */
const LONGEST_COMPARED = 1024;

/** The usual one, run lengths, is read wrongly by some readers (https://github.com/dask/fastparquet/issues/884). */
const BOOLEAN_ENCODING = 'PLAIN' as const;

interface Column extends TableColumn {
  read: Reader;
  data: Value[];
  /** Characters of the longest field. */
  longest: number;
}

/** Gathers rows by columns, until there are enough for a row group. */
export class RowGroup {
  readonly misfits = new Map<string, Misfits>();
  readonly #columns: Column[];
  readonly #onMisfit: TableSettings['misfit'];
  #size = 0;

  constructor(columns: readonly TableColumn[], { misfit }: TableSettings, hashKey: string) {
    this.#columns = columns.map((column) => ({ ...column, read: readerOf(column, hashKey), data: [], longest: 0 }));
    this.#onMisfit = misfit;
  }

  get empty(): boolean {
    return this.#size === 0;
  }

  get full(): boolean {
    return this.#size >= Math.max(GROUP_SIZE, GROUP_SIZE_PER_COLUMN * this.#columns.length);
  }

  /** @throws TableError where a value does not fit and the settings say `stop` */
  add(record: readonly string[], row: number): void {
    for (const column of this.#columns) {
      const field = record[column.place];
      const value = field === undefined ? null : column.read(field);
      if (value === undefined) this.#misfit(column, row);
      column.data.push(value ?? null);
      // A hash may be much longer than what it is made of.
      const { length } = typeof value === 'string' ? value : (field ?? '');
      if (length > column.longest) column.longest = length;
      this.#size += VALUE_OVERHEAD + length;
    }
  }

  #misfit({ name, type }: Column, row: number): void {
    const word = typeof type === 'string' ? type : type.type;
    if (this.#onMisfit === 'stop') {
      throw new TableError(`The value in row ${row} of the column "${name}" does not fit its type, ${word}.`);
    }
    const misfits = this.misfits.get(name) ?? { column: name, type: word, count: 0, row };
    misfits.count += 1;
    this.misfits.set(name, misfits);
  }

  /** What was gathered, which is forgotten. */
  take(): { columnData: ColumnSource[]; rowGroupSize: number } {
    this.#size = 0;
    const columnData = this.#columns.map((column) => {
      const { name, type, data, longest } = column;
      Object.assign(column, { data: [], longest: 0 });
      const statistics = longest <= LONGEST_COMPARED;
      return { name, data, statistics, ...(type === 'boolean' && { encoding: BOOLEAN_ENCODING }) };
    });
    return { columnData, rowGroupSize: Number.POSITIVE_INFINITY };
  }
}
