/** The columns of a feed that precede those of its table. Their types are types of the table settings. */
export const OWN_COLUMNS = [
  { name: '_change_type', type: 'text' },
  { name: '_sequence', type: 'integer' },
  { name: '_kind', type: 'text' },
  { name: '_from_run', type: 'text' },
  { name: '_to_run', type: 'text' },
  { name: '_from_date', type: 'date' },
  { name: '_to_date', type: 'date' },
] as const;

/** Names that a table with feeds must not use: those of a feed, and `run`, a folder that DuckDB shows as a column. */
export const RESERVED: readonly string[] = [...OWN_COLUMNS.map(({ name }) => name), 'run'];
