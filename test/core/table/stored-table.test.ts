import { expect, it } from 'vitest';
import { tableKey, tableOfKey, tablesOf } from '../../../core/table/stored-table.ts';

it('tableKey contains a folder for the entity and one for the date', () => {
  expect(tableKey('leads', '2026-11-22', 1)).toBe('tables/entity=leads/date=2026-11-22/leads.parquet');
});

it('tableKey contains a folder for the version from version 2 on', () => {
  expect(tableKey('leads', '2026-11-22', 2)).toBe('tables/v2/entity=leads/date=2026-11-22/leads.parquet');
  expect(tablesOf('leads', 12)).toBe('tables/v12/entity=leads/');
});

it.each([1, 12])('tableOfKey reads the key of version %d', (version) => {
  const key = tableKey('agent-numbers', '2026-11-22', version);
  expect(tableOfKey(key)).toEqual({ entity: 'agent-numbers', date: '2026-11-22', version });
});

it.each(['tables/entity=ghosts/date=2026-11-22/ghosts.parquet', 'tables/readme.txt', 'runs/entity=leads/leads.csv'])(
  'tableOfKey returns undefined for %s',
  (key) => {
    expect(tableOfKey(key)).toBeUndefined();
  },
);
