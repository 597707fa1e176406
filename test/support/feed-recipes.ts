import { fencedBlock } from './fenced-block.ts';

/** Where the recipes of `docs/reading.md` for feeds stand, by the line above each. */
const RECIPES = {
  chain: '### Feeds in DuckDB',
  told: 'What was told since a date, feed by feed:',
  fold: 'All feeds from the newest snapshot on make the newest table, and the last query has no row:',
  history: '### History in DuckDB',
  record: 'The versions of one record, by its key:',
  balance: 'What has changed since that date on balance, snapshots or not:',
  start: 'The rows before it are those of the newest table, less all that was told since:',
  athenaTold: '### Feeds in Athena',
  athenaFold: 'The feeds from the newest snapshot on, less the newest table; no row is left:',
  athenaHistory: 'The [history](#history-in-duckdb), from the oldest snapshot on:',
} as const;

/** @param bucket a folder in place of the bucket */
export function feedRecipe(
  name: keyof typeof RECIPES,
  { bucket, newest = '', since = '' }: { bucket: string; newest?: string; since?: string },
): string {
  return fencedBlock('docs/reading.md', RECIPES[name], 'sql')
    .replaceAll('s3://BUCKET', bucket)
    .replaceAll('2026-11-20', newest)
    .replaceAll('2026-11-19', since);
}

/** The Python that keeps a copy. */
export const copyRecipe = () => fencedBlock('docs/reading.md', '### A copy in another database', 'python');
