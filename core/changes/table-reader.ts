import { type AsyncBuffer, type DecodedArray, parquetMetadataAsync, parquetScan } from 'hyparquet';
import type { SchemaElement } from 'hyparquet-writer';
import { RunError } from '../errors.ts';
import { FeedError } from './feed-error.ts';

/** A column of a table, as its file says it. */
export type TableColumn = SchemaElement & { name: string };

/** Values of the columns of one row group, in the order of the columns. */
export type RowGroupColumns = { rows: number; columns: DecodedArray[] };

export interface TableReader {
  columns: TableColumn[];
  rows: number;
  /** What a writer said of the table beside its rows. */
  said: Record<string, string | undefined>;
  /** One row group after the other: no more than one of them is in memory. */
  groups(): AsyncGenerator<RowGroupColumns>;
}

/**
 * Reads a table of WriteTable. Values are those that are stored: texts as UTF-8, numbers of 64 bits as `bigint`, decimals without
 * their point, dates as days, timestamps as milliseconds. A library that reads them as numbers would round.
 * @throws FeedError, here or while it is read, where it is no such table; a RunError of what it is read from
 */
export async function readTable(file: AsyncBuffer): Promise<TableReader> {
  const metadata = await readable(parquetMetadataAsync(file));
  const [root, ...columns] = metadata.schema;
  if (!root || root.num_children !== columns.length) throw unreadable('it has other columns than plain ones');
  const physical = columns.map(({ name, type, repetition_type }): SchemaElement => ({ name, type, repetition_type }));
  const told = { ...metadata, schema: [root, ...physical] };
  const scan = await readable(parquetScan({ file, metadata: told, utf8: false, useOffsetIndex: false }));
  return {
    columns,
    rows: Number(metadata.num_rows),
    said: Object.fromEntries((metadata.key_value_metadata ?? []).map(({ key, value }) => [key, value])),
    async *groups() {
      for (const { rowStart, rowEnd } of scan.ranges) {
        const values: DecodedArray[] = [];
        for (const { name: column } of columns) {
          values.push(await readable(scan.readColumn({ column, rowStart, rowEnd })));
        }
        yield { rows: rowEnd - rowStart, columns: values };
      }
    },
  };
}

function readable<T>(reading: Promise<T>): Promise<T> {
  return reading.catch((cause: unknown) => {
    // The place that it is read from said so: that is another trouble.
    if (cause instanceof RunError) throw cause;
    throw unreadable('it is no whole Parquet file', cause);
  });
}

function unreadable(why: string, cause?: unknown): FeedError {
  const what = `A table, or the copy of the one before, cannot be read: ${why}`;
  return new FeedError(`${what}. The command \`table\` writes it again.`, { cause });
}
