import type { ColumnSource } from 'hyparquet-writer';
import type { Value } from './column-types.ts';

/** A row group is in memory as a whole: characters of its fields, with what each value takes besides. */
const GROUP_SIZE = 4 * 1024 * 1024;
const VALUE_OVERHEAD = 8;
/** What describes the columns of all row groups is in memory until the end: of many columns there are fewer groups. */
const GROUP_SIZE_PER_COLUMN = 32 * 1024;
/** The least and the largest value of every row group are in memory until the end; not those of columns with longer ones. */
const LONGEST_COMPARED = 1024;

/** The usual one, run lengths, is read wrongly by some readers (https://github.com/dask/fastparquet/issues/884). */
const BOOLEAN_ENCODING = 'PLAIN' as const;

interface Gathered {
  name: string;
  boolean: boolean;
  data: Value[];
  /** Characters of the longest value. */
  longest: number;
}

/** Gathers values by columns, until there are enough for a row group. */
export class GatheredColumns {
  readonly #columns: Gathered[];
  #size = 0;

  constructor(columns: readonly { name: string; boolean: boolean }[]) {
    this.#columns = columns.map(({ name, boolean }) => ({ name, boolean, data: [], longest: 0 }));
  }

  get empty(): boolean {
    return this.#size === 0;
  }

  get full(): boolean {
    return this.#size >= Math.max(GROUP_SIZE, GROUP_SIZE_PER_COLUMN * this.#columns.length);
  }

  /** Adds the next value of a column. @param length characters of the text that it is, or was read from */
  put(place: number, value: Value, length: number): void {
    const column = this.#columns[place] as Gathered;
    column.data.push(value);
    if (length > column.longest) column.longest = length;
    this.#size += VALUE_OVERHEAD + length;
  }

  /** What was gathered, which is forgotten. */
  take(): { columnData: ColumnSource[]; rowGroupSize: number } {
    this.#size = 0;
    const columnData = this.#columns.map((column) => {
      const { name, boolean, data, longest } = column;
      Object.assign(column, { data: [], longest: 0 });
      const statistics = longest <= LONGEST_COMPARED;
      return { name, data, statistics, ...(boolean && { encoding: BOOLEAN_ENCODING }) };
    });
    return { columnData, rowGroupSize: Number.POSITIVE_INFINITY };
  }
}
