import { expect, it } from 'vitest';
import { tableKey, tablesOf } from '../../../core/table/table-key.ts';

it('is a folder for the entity and one for the date', () => {
  expect(tableKey('leads', '2026-11-22', 1)).toBe('tables/entity=leads/date=2026-11-22/leads.parquet');
});

it('is below a folder of its own from the second version on', () => {
  expect(tableKey('leads', '2026-11-22', 2)).toBe('tables/v2/entity=leads/date=2026-11-22/leads.parquet');
  expect(tablesOf('leads', 12)).toBe('tables/v12/entity=leads/');
});
