import { expect, test } from 'vitest';
import { chosenColumnsOf } from '../../../core/config/chosen-columns.ts';
import type { EntityPlan } from '../../../core/config/entity-settings.ts';
import type { ExportInput } from '../../../core/export/input.ts';
import { planFor } from '../../../core/export/plan.ts';
import { deployment } from '../../support/builders.ts';

const ALL = { columns: 'all' as const, extra: {} };
const plan = (settings: { columns?: Parameters<typeof chosenColumnsOf>[0] }, input: Partial<ExportInput> = {}) => {
  const { columns, ...more } = settings;
  const configured: EntityPlan = {
    ...deployment().entities.leads,
    ...more,
    columns: chosenColumnsOf(columns ?? 'all'),
  };
  return planFor(configured, { entity: 'leads', ...input });
};
const digest = (settings: Parameters<typeof plan>[0]) => plan(settings).digest;

test.each([
  ['the order of keys', { ...ALL, filters: [{ a: 1, b: 2 }] }, { ...ALL, filters: [{ b: 2, a: 1 }] }],
  ['an empty list of filters', ALL, { ...ALL, filters: [] }],
  ['an operator without filters', ALL, { ...ALL, filtersOperator: 'or' as const }],
  ['required columns', ALL, { ...ALL, columns: { required: ['id'] } }],
  ['the order of exceptions', { ...ALL, columns: { except: ['a', 'b'] } }, { ...ALL, columns: { except: ['b', 'a'] } }],
  ['columns in an object', { ...ALL, columns: ['id', 'name'] }, { ...ALL, columns: { only: ['id', 'name'] } }],
  ['a label of a header', ALL, { ...ALL, columns: { labels: { Key: 'id' } } }],
  [
    'a label of a header together with a left-out column',
    { ...ALL, columns: { except: ['a'] } },
    { ...ALL, columns: { except: ['a'], labels: { Key: 'id' } } },
  ],
  ['a file without a header', ALL, { ...ALL, columns: { header: 'none' as const } }],
])('%s does not change the digest of a plan', (_, one, other) => {
  expect(digest(other)).toBe(digest(one));
});

test.each([
  ['a filter', { ...ALL, filters: [{ a: 1 }] }],
  ['a list of columns', { ...ALL, columns: ['id'] }],
  ['a left-out column', { ...ALL, columns: { except: ['id'] } }],
  ['an additional key of the request', { ...ALL, extra: { locale: 'he' } }],
])('%s changes the digest of a plan', (_, other) => {
  expect(digest(other)).not.toBe(digest(ALL));
});

test('equal plans of two entities have different digests', () => {
  expect(digest(ALL)).not.toBe(plan(ALL, { entity: 'contacts' }).digest);
});

test('an input differs only by values that change the plan, even if it names others', () => {
  const configured = { ...ALL, filters: [{ a: 1 }], filtersOperator: 'and' as const };

  expect(plan(configured, { filters: [{ a: 1 }], filtersOperator: 'and', columns: 'all' })).toMatchObject({
    differs: [],
    kind: 'full',
  });
  expect(plan(configured, { filters: [{ a: 2 }], filtersOperator: 'or' })).toMatchObject({
    differs: ['filters', 'filtersOperator'],
    kind: 'partial',
  });
});
