import type { AsyncBuffer } from 'hyparquet';
import type { Sink } from '../table/sink-writer.ts';
import type { Counts } from './compare-part.ts';
import { compareTables } from './compare-tables.ts';
import { type FeedPlace, RESERVED } from './feed-columns.ts';
import { FeedError } from './feed-error.ts';
import { type ChangeCounts, FeedWriter } from './feed-writer.ts';
import { storedValue } from './row-code.ts';
import { type RowPlan, rowPlan, valuesOf } from './row-record.ts';
import { readTable, type TableReader } from './table-reader.ts';

/** What a feed is made of. */
export interface FeedInput {
  /** The table that the feed before ended at, for a feed of changes; `null` for a snapshot. */
  before: AsyncBuffer | null;
  after: AsyncBuffer;
  /** Columns of the table that a row is known by. */
  key: readonly string[];
  /** Columns whose changes are none. */
  ignore: readonly string[];
  place: FeedPlace;
  /** Release that writes the feed. */
  softwareVersion: string;
  /** The most that the rows of both tables may take on the disk while they are compared; a feed takes less. */
  diskBytes: number;
  /** Called now and then; what it throws ends the feed. */
  onProgress: () => void;
}

export interface WrittenFeed extends Counts {
  /** Rows of the table that the feed ends at. */
  rows: number;
  bytes: number;
  changes: ChangeCounts;
}

const NOTHING_COMPARED: Counts = { keys: 0, gone: 0, unmatched: 0 };

/**
 * Writes a feed: the changes between two tables of the same columns, or all rows of the newer one where there is none before. What the sink has
 * taken is a feed only when this returns.
 * @throws FeedError; what reading the tables, the sink and `onProgress` throw
 */
export async function writeFeed(input: FeedInput, sink: Sink): Promise<WrittenFeed> {
  const after = await readTable(input.after);
  const before = input.before && (await readTable(input.before));
  const plan = planOf(after, input);
  if (before && columnsText(before) !== columnsText(after))
    throw new FeedError('Both tables have to have the same columns.');
  const feed = new FeedWriter(after.columns, input.place, input.softwareVersion, sink);
  const counts = before
    ? await addChanges(before, after, plan, input, feed)
    : await addRows(after, input.onProgress, feed);
  await feed.finish();
  return { ...counts, rows: after.rows, bytes: feed.bytes, changes: feed.counts };
}

/** @throws FeedError */
function planOf({ columns }: TableReader, { key, ignore }: FeedInput): RowPlan {
  const reserved = columns.find(({ name }) => RESERVED.includes(name));
  if (reserved)
    throw new FeedError(
      `The table has a column "${reserved.name}", which is a name of the feed itself. \`tables.except\` leaves it out.`,
    );
  const missing = [...key, ...ignore].find((name) => !columns.some((column) => column.name === name));
  if (missing !== undefined) throw new FeedError(`The table has no column "${missing}", which \`changes\` names.`);
  return rowPlan(columns, key, ignore);
}

/** Equal for tables with the same columns of the same types, in the same order. */
export const columnsText = ({ columns }: TableReader) => JSON.stringify(columns);

async function addChanges(
  before: TableReader,
  after: TableReader,
  plan: RowPlan,
  { diskBytes, onProgress }: FeedInput,
  feed: FeedWriter,
): Promise<Counts> {
  const counts = { ...NOTHING_COMPARED };
  for await (const part of compareTables({ before, after, plan, diskBytes, onProgress }, counts)) {
    for (const { type, row } of part) {
      feed.add(type, valuesOf(row, plan));
      if (feed.full) await feed.flush();
    }
  }
  return counts;
}

async function addRows(table: TableReader, onProgress: () => void, feed: FeedWriter): Promise<Counts> {
  for await (const { rows, columns } of table.groups()) {
    onProgress();
    for (let row = 0; row < rows; row += 1) {
      const values = columns.map((column) => storedValue(column[row]));
      feed.add('insert', values);
      if (feed.full) await feed.flush();
    }
  }
  return NOTHING_COMPARED;
}
