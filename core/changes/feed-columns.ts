import type { SchemaElement } from 'hyparquet-writer';
import { schemaOf } from '../table/column-types.ts';
import type { ChangeType } from './compare-part.ts';
import type { TableColumn } from './table-reader.ts';

/** Where a feed stands in the chain of feeds, and what it lies between. */
export interface FeedPlace {
  sequence: number;
  /** `snapshot`: its rows replace everything. */
  kind: 'changes' | 'snapshot';
  /** The run and the date that the feed before ended at; `null` for the first one. */
  from: { run: string; date: string } | null;
  to: { run: string; date: string };
}

/** What a feed says of each row beside its columns. */
const OWN = [
  { name: '_change_type', type: 'text' },
  { name: '_sequence', type: 'integer' },
  { name: '_kind', type: 'text' },
  { name: '_from_run', type: 'text' },
  { name: '_to_run', type: 'text' },
  { name: '_from_date', type: 'date' },
  { name: '_to_date', type: 'date' },
] as const;

/** The same, for a catalog. */
export const OWN_COLUMNS: readonly { name: string; type: 'text' | 'integer' | 'date' }[] = OWN;

const DAY_MS = 86_400_000;

/** Names that a table with feeds cannot have: its own, and that of a folder, which DuckDB would show in place of the column. */
export const RESERVED: readonly string[] = [...OWN.map(({ name }) => name), 'run'];

/** The schema of a feed: the columns of its table, typed as they are there, behind its own. */
export function feedSchema(columns: readonly TableColumn[]): SchemaElement[] {
  const [root, ...own] = schemaOf(OWN.map(({ name, type }) => ({ name, type, place: 0, hashed: false })));
  return [{ ...root, name: 'changes', num_children: own.length + columns.length }, ...own, ...columns];
}

/** The own values of each row of a feed, behind the type of its change. */
export function ownValues({
  sequence,
  kind,
  from,
  to,
}: FeedPlace): [string, (type: ChangeType) => string | number | bigint | null][] {
  const day = (date: string) => Date.parse(date) / DAY_MS;
  const values = [BigInt(sequence), kind, from?.run ?? null, to.run, from ? day(from.date) : null, day(to.date)];
  return OWN.map(({ name }, place) => [name, (type) => (place === 0 ? type : (values[place - 1] ?? null))]);
}
