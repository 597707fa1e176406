import type { DecodedArray } from 'hyparquet';
import type { FeedRecord } from '../../core/changes/chain/feed-record.ts';
import { OWN_COLUMNS } from '../../core/changes/feed-columns.ts';
import type { Stored } from '../../core/changes/row-code.ts';
import { type RowGroupColumns, readTable, type TableColumn } from '../../core/changes/table-reader.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { feedFile, unreadFeed } from './feed-file.ts';
import { storedText } from './value-text.ts';

/** The values of a row of the table by the names of its columns. */
export type Row = Record<string, string | null>;

/** A change of a feed; of an update both rows. */
export interface RowChange {
  change: 'insert' | 'delete' | 'update';
  before: Row | null;
  after: Row | null;
}

/** What a feed says of one of its rows. */
interface FeedRow {
  type: string | null;
  row: Row;
}

/**
 * The changes of a feed in its order, read while they are taken: one row group is in memory. Those of a snapshot are inserts.
 * @param key values of the feed's key, in its order: only rows that have them
 * @throws CommandError (exit code 1) where the feed is gone, another than its record says, or damaged; RunError
 */
export async function* rowChanges(bucket: Bucket, feed: FeedRecord, key?: string[]): AsyncGenerator<RowChange> {
  try {
    const { columns, groups } = await readTable(feedFile(bucket, feed));
    const changeOf = pairing();
    for await (const group of groups())
      for (const row of rowsOf(group, columns, key && { names: feed.key, values: key })) {
        const change = changeOf(row);
        if (change) yield change;
      }
  } catch (error) {
    throw unreadFeed(feed, error);
  }
}

/** Rows of a feed, one after the other, as changes: of an update, the row behind the old one takes its place. */
function pairing(): (row: FeedRow) => RowChange | undefined {
  let old: Row | null = null;
  return ({ type, row }) => {
    const before = old;
    old = type === 'update_preimage' ? row : null;
    if (type === 'insert') return { change: 'insert', before: null, after: row };
    if (type === 'delete') return { change: 'delete', before: row, after: null };
    return type === 'update_postimage' ? { change: 'update', before, after: row } : undefined;
  };
}

function* rowsOf(
  { rows, columns: values }: RowGroupColumns,
  columns: readonly TableColumn[],
  key?: { names: string[]; values: string[] },
): Generator<FeedRow> {
  const read = columns.map((column, place) => {
    const ofColumn = values[place] as DecodedArray;
    return { name: column.name, at: (row: number) => storedText(column, ofColumn[row] as Stored) };
  });
  const [type, ...own] = read.splice(0, OWN_COLUMNS.length);
  if (type === undefined || type.name !== OWN_COLUMNS[0]?.name || own.length !== OWN_COLUMNS.length - 1)
    throw new Error('it is no feed of changes');
  const wanted = key?.names.map((name, part) => ({
    at: read.find((column) => column.name === name)?.at ?? (() => null),
    value: key.values[part],
  }));
  for (let row = 0; row < rows; row += 1) {
    if (wanted?.some(({ at, value }) => at(row) !== value)) continue;
    yield { type: type.at(row), row: Object.fromEntries(read.map(({ name, at }) => [name, at(row)])) };
  }
}
