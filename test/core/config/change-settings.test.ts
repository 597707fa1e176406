import { expect, test } from 'vitest';
import type { deploymentSchema } from '../../../core/config/deployment.ts';
import { exampleDeployment } from '../../../scripts/deployments.ts';

const TABLES = { columns: ['id', 'branch', 'name'], tables: {} };

/** The problems of the configuration; an empty list if it is valid. */
function problemsOf(leads: object): string[] {
  try {
    exampleDeployment({ entities: { leads } });
    return [];
  } catch (error) {
    return (
      error as ReturnType<typeof deploymentSchema.safeParse> & { issues: { path: string[]; message: string }[] }
    ).issues.map(({ path, message }) => `${path.join('.')} ${message}`);
  }
}

test('a key is a column or several, and a fifth of them may be gone unless told otherwise', () => {
  const settingsOf = (changes: object) =>
    exampleDeployment({ entities: { leads: { ...TABLES, changes } } }).entities.leads.changes;

  expect(settingsOf({ key: 'id' })).toEqual({ key: ['id'], maxRemoved: 0.2 });
  expect(settingsOf({ key: ['id', 'branch'], ignore: ['name'], maxRemoved: 0 })).toEqual({
    key: ['id', 'branch'],
    ignore: ['name'],
    maxRemoved: 0,
  });
});

const filters = [{ field: 'updatedAt', from: { $date: 'day-1d' } }];

test.each([
  ['without tables', { columns: 'all', changes: { key: 'id' } }, 'entities.leads.changes needs `tables`'],
  ['beside a date in filters', { ...TABLES, filters, changes: { key: 'id' } }, '"$date" in `filters`'],
  [
    'with a key that the table leaves out',
    { columns: 'all', tables: { except: ['id'] }, changes: { key: 'id' } },
    'changes.key names "id"',
  ],
  [
    'with a key that the table leaves out by another spelling',
    { columns: 'all', tables: { except: ['ID '] }, changes: { key: 'id' } },
    'changes.key names "id"',
  ],
  [
    'with a key that is ignored by another spelling',
    { columns: 'all', tables: {}, changes: { key: 'id', ignore: ['ID'] } },
    'a part of `key`',
  ],
  ['with a key that is never requested', { ...TABLES, changes: { key: 'number' } }, 'changes.key names "number"'],
  [
    'with a left-out column that is ignored',
    { columns: { except: ['name'] }, tables: {}, changes: { key: 'id', ignore: ['name'] } },
    'changes.ignore names "name"',
  ],
  ['with a key that is ignored', { ...TABLES, changes: { key: 'id', ignore: ['id'] } }, 'a part of `key`'],
  ['with a key of no column', { ...TABLES, changes: { key: [] } }, 'changes.key'],
  ['with a column twice', { ...TABLES, changes: { key: ['id', 'id'] } }, 'changes.key'],
  ['with a share above one', { ...TABLES, changes: { key: 'id', maxRemoved: 20 } }, 'changes.maxRemoved'],
  ['without a key', { ...TABLES, changes: {} }, 'changes.key'],
])('%s it is refused', (_, leads, why) => {
  expect(problemsOf(leads)).toEqual([expect.stringContaining(why)]);
});
