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
const LARGEST_GROUP = 8 * 1024 * 1024;
const VALUE_OVERHEAD = 8;

/** The usual one, run lengths, is read wrongly by some readers (https://github.com/dask/fastparquet/issues/884). */
const BOOLEAN_ENCODING = 'PLAIN' as const;

interface Column extends TableColumn {
  read: Reader;
  data: Value[];
}

/** Gathers rows by columns, until there are enough for a row group. */
export class RowGroup {
  readonly misfits = new Map<string, Misfits>();
  readonly #columns: Column[];
  readonly #onMisfit: TableSettings['misfit'];
  #size = 0;

  constructor(columns: readonly TableColumn[], { misfit }: TableSettings, hashKey: string) {
    this.#columns = columns.map((column) => ({ ...column, read: readerOf(column, hashKey), data: [] }));
    this.#onMisfit = misfit;
  }

  get empty(): boolean {
    return this.#size === 0;
  }

  get full(): boolean {
    return this.#size >= LARGEST_GROUP;
  }

  /** @throws TableError where a value does not fit and the settings say `stop` */
  add(record: readonly string[], row: number): void {
    for (const column of this.#columns) {
      const field = record[column.place];
      const value = field === undefined ? null : column.read(field);
      if (value === undefined) this.#misfit(column, row);
      column.data.push(value ?? null);
      this.#size += VALUE_OVERHEAD + (field?.length ?? 0);
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
      const { name, type, data } = column;
      column.data = [];
      return type === 'boolean' ? { name, data, encoding: BOOLEAN_ENCODING } : { name, data };
    });
    return { columnData, rowGroupSize: Number.POSITIVE_INFINITY };
  }
}
