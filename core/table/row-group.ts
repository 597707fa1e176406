import type { TableSettings } from '../config/table-settings.ts';
import { type Reader, readerOf } from './column-types.ts';
import type { TableColumn } from './columns.ts';
import { GatheredColumns } from './gathered-columns.ts';
import type { CountedRows } from './row-count.ts';
import { TableError } from './table-error.ts';

/** Values of a column that did not fit its type, and are none in the table. */
export interface Misfits extends CountedRows {
  column: string;
  type: string;
}

/** Reads the rows of a file as the values of its table, until there are enough for a row group. */
export class RowGroup extends GatheredColumns {
  readonly misfits = new Map<string, Misfits>();
  readonly #fields: (TableColumn & { read: Reader; hasValue: boolean })[];
  readonly #onMisfit: TableSettings['misfit'];
  readonly #broken: boolean;

  /** @param broken whether some characters of the file are broken: they are U+FFFD in its texts */
  constructor(columns: readonly TableColumn[], { misfit }: TableSettings, hashKey: string, broken = false) {
    super(columns.map(({ name, type }) => ({ name, boolean: type === 'boolean' })));
    this.#fields = columns.map((column) => ({ ...column, read: readerOf(column, hashKey), hasValue: false }));
    this.#onMisfit = misfit;
    this.#broken = broken;
  }

  /** @throws TableError where a value does not fit and the settings say `stop` */
  add(record: readonly string[], row: number): void {
    for (const [at, column] of this.#fields.entries()) {
      const field = record[column.place];
      const value = field === undefined ? null : column.read(field);
      if (value !== undefined && value !== null) column.hasValue = true;
      if (value === undefined || (this.#broken && field?.includes('\uFFFD'))) this.#misfit(column, row);
      // A hash may be much longer than what it is made of.
      const { length } = typeof value === 'string' ? value : (field ?? '');
      this.put(at, value ?? null, length);
    }
  }

  /** @throws TableError if the type of a column fits none of its values */
  refuseWrongTypes(): void {
    for (const { name, hasValue } of this.#fields) {
      const { type, count, row } = this.misfits.get(name) ?? {};
      if (hasValue || type === undefined) continue;
      throw new TableError(
        `The type of the column "${name}", ${type}, fits none of its values (${count}, the first in row ${row}).`,
      );
    }
  }

  #misfit({ name, type }: TableColumn, row: number): void {
    const word = typeof type === 'string' ? type : type.type;
    if (this.#onMisfit === 'stop') {
      throw new TableError(`The value in row ${row} of the column "${name}" does not fit its type, ${word}.`);
    }
    const misfits = this.misfits.get(name) ?? { column: name, type: word, count: 0, row };
    misfits.count += 1;
    this.misfits.set(name, misfits);
  }
}
