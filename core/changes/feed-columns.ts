/** Where a feed stands in the chain of feeds, and what it lies between. */
export interface FeedPlace {
  sequence: number;
  /** `snapshot`: its rows replace everything. */
  kind: 'changes' | 'snapshot';
  /** The run and the date that the feed before ended at; `null` for the first one. */
  from: { run: string; date: string } | null;
  to: { run: string; date: string };
}

/** The columns that a feed has before those of its table. Types are those of a table's settings. */
export const OWN_COLUMNS = [
  { name: '_change_type', type: 'text' },
  { name: '_sequence', type: 'integer' },
  { name: '_kind', type: 'text' },
  { name: '_from_run', type: 'text' },
  { name: '_to_run', type: 'text' },
  { name: '_from_date', type: 'date' },
  { name: '_to_date', type: 'date' },
] as const;

/** Names that a table with feeds cannot have: those of a feed, and that of a folder, which DuckDB would show in place of the column. */
export const RESERVED: readonly string[] = [...OWN_COLUMNS.map(({ name }) => name), 'run'];
