import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { placeForTables, putTable } from './support.ts';

const { path, duckDb } = await placeForTables();

/** Functions of Trino that DuckDB calls otherwise, or does not have. */
const TRINO = [
  'CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern)',
  'CREATE MACRO from_iso8601_timestamp(text) AS TRY_CAST(text AS TIMESTAMPTZ)',
];

test('the recipe for Athena makes the rows of WriteTable', async () => {
  const rows = [
    ...['1,Dana,2026-11-20T10:00:00.5+02:00,28/02/2026,1.50,x', '2,"a ""b"", c",2026-02-30T10:00:00Z,31/02/2026,1e3,x'],
    ...['3,דנה,9999-12-31T23:59:59Z,01/01/0099,-9999999999999999.99,', '007,,,,,', '5, x ,2026-11-20,1/2/2026,1.505,x'],
  ];
  const content = `id,name,createdAt,birthDate,sum,notes\n${rows.join('\n')}\n`;
  const columns = {
    createdAt: 'timestamp' as const,
    birthDate: { type: 'date' as const, format: 'DD/MM/YYYY' as const },
    sum: { type: 'decimal' as const, precision: 18, scale: 2 },
  };
  await putTable(path, { content, settings: { columns, except: ['notes'] } });
  const recipe = readFileSync('docs/recipes/tables-athena.sql', 'utf8');
  const select = /\nAS (SELECT\n[^;]+);/.exec(recipe)?.[1] ?? '';
  const texts = `SELECT * FROM (VALUES ${rows.map((row) => `(${cellsOf(row)})`)}) AS t(id, name, createdat, birthdate, sum, notes)`;
  for (const macro of TRINO) await duckDb.rows(macro);
  await duckDb.rows("SET TimeZone = 'UTC'");
  await duckDb.rows(`CREATE TABLE leads_texts AS ${texts}`);

  const made = select.replace('crm_export_prod.', '');

  expect(await duckDb.differences(made, `SELECT * REPLACE (createdat::TIMESTAMP AS createdat) FROM '${path}'`)).toEqual(
    [],
  );
});

/** The cells of a record as SQL literals. */
const cellsOf = (row: string) =>
  [...row.matchAll(/"((?:[^"]|"")*)"(?:,|$)|([^,]*)(?:,|$)/g)]
    .slice(0, 6)
    .map(([, quoted, plain = '']) => `'${(quoted?.replaceAll('""', '"') ?? plain).replaceAll("'", "''")}'`);
