import { expect, test } from 'vitest';
import { warningsOf } from '../../../lambdas/publish-file/warnings.ts';

const facts = (overrides: Partial<Parameters<typeof warningsOf>[0]> = {}) => ({
  rows: 1,
  header: ['id', 'name'],
  requested: ['id', 'name'],
  accepted: false,
  irregular: 0,
  remarks: [],
  unansweredCreates: 0,
  restarts: 0,
  undeclaredEnd: false,
  ...overrides,
});

test('a file as it was requested gives no warning', () => {
  expect(warningsOf(facts())).toEqual([]);
  expect(warningsOf(facts({ rows: null, header: null }))).toEqual([]);
});

test.each([
  ['no rows', { rows: 0 }, 'The file has no rows.'],
  ['fewer columns', { header: ['id'] }, 'The header has 1 columns; 2 were requested.'],
  ['other names', { header: ['ID', 'Name'] }, 'The header names the columns otherwise than they were requested.'],
  ['another order', { header: ['name', 'id'] }, 'The header names the columns otherwise than they were requested.'],
  ['irregular rows', { irregular: 3 }, '3 rows have another number of fields than the first record.'],
  [
    'a lost answer',
    { unansweredCreates: 1 },
    'Whether a first request made an export is not known (its answer was lost, unreadable, or an error that does not say): the CRM may hold a further export that nobody collects.',
  ],
  [
    'a file that changed',
    { restarts: 2 },
    'The file was restarted 2 times: it had changed at its origin, or what was stored of it was gone.',
  ],
  [
    'an end that nothing marked',
    { undeclaredEnd: true },
    'Nothing but the closing of the connection marked the end of the file: rows may be missing there.',
  ],
])('%s', (_, overrides, warning) => {
  expect(warningsOf(facts(overrides))).toEqual([warning]);
});

test('other columns than requested are no warning where the configuration accepts them', () => {
  expect(warningsOf(facts({ header: ['id'], accepted: true }))).toEqual([]);
  expect(warningsOf(facts({ header: ['id', 'x'], accepted: true }))).toEqual([]);
});
