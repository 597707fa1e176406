import { readFileSync } from 'node:fs';

/** The file of each query and its position there. */
const RECIPES = {
  chain: ['feeds-duckdb.sql', 1],
  told: ['feeds-duckdb.sql', 2],
  fold: ['feeds-duckdb.sql', 3],
  history: ['feeds-duckdb.sql', 4],
  record: ['feeds-duckdb.sql', 5],
  balance: ['feeds-duckdb.sql', 6],
  start: ['feeds-duckdb.sql', 7],
  athenaTold: ['feeds-athena.sql', 1],
  athenaFold: ['feeds-athena.sql', 2],
  athenaHistory: ['feeds-athena.sql', 3],
} as const;

/**
 * A query of `docs/recipes` for feeds.
 * @param bucket a folder that replaces the bucket
 */
export function feedRecipe(
  name: keyof typeof RECIPES,
  { bucket, newest = '', since = '' }: { bucket: string; newest?: string; since?: string },
): string {
  const [file, number] = RECIPES[name];
  const text = readFileSync(`docs/recipes/${file}`, 'utf8').split(/^-- \d+\. /m)[number];
  if (text === undefined) throw new Error(`docs/recipes/${file} has no query ${number}`);
  return `-- ${text}`
    .replaceAll('s3://BUCKET', bucket)
    .replaceAll('2026-11-20', newest)
    .replaceAll('2026-11-19', since);
}
