import { expect, test } from 'vitest';
import type { Content, Facts } from '../../../core/gate/facts.ts';
import { passGate } from '../../../core/gate/gate.ts';
import type { Promised } from '../../../core/gate/subject.ts';
import { factsOf, historyOf, subjectOf } from '../../support/gate.ts';

function remarksOf(facts: Partial<Facts>, content: Partial<Content> = {}, promised: Partial<Promised> = {}) {
  const history = historyOf(factsOf(null));
  return passGate(subjectOf(factsOf(1, content, facts), { history, promised }), true).remarks;
}

test.each<[string, Partial<Facts>, Partial<Content>, string]>([
  ['no rows', {}, { rows: 0 }, 'The file has no rows.'],
  ['fewer columns', { header: ['id'] }, {}, 'The header has 1 columns; 2 were requested.'],
  ['other names', { header: ['ID', 'Name'] }, {}, 'The header names the columns otherwise than they were requested.'],
  ['another order', { header: ['name', 'id'] }, {}, 'The header names the columns otherwise than they were requested.'],
  ['irregular rows', {}, { irregular: 3 }, '3 rows have another number of fields than the first record.'],
])('a file is published with a warning: %s', (_, facts, content, warning) => {
  expect(remarksOf(facts, content)).toEqual([warning]);
});

test('other columns than requested are no warning where the configuration accepts them', () => {
  const drift = { added: 'accept', removed: 'accept', retyped: 'warn' } as const;

  expect(remarksOf({ header: ['id'] }, {}, { drift })).toEqual([]);
  expect(remarksOf({ header: ['id', 'x'] }, {}, { drift })).toEqual([]);
  expect(remarksOf({ header: ['name', 'id'] }, {}, { drift })).toHaveLength(1);
});
