import { expect, test } from 'vitest';
import { Problems } from '../../../core/batch/validate-updates.ts';
import { shownName } from '../../../core/updates/update-line.ts';

test('keeps the first 20 problems and counts all, with the most frequent fields first', () => {
  const problems = new Problems();
  for (let line = 1; line <= 50; line += 1) {
    problems.add({ line, field: line % 5 === 0 ? 'gender' : 'notes', sentence: 's' });
  }
  problems.add({ line: 51, field: null, sentence: 's' });

  const report = problems.report();

  expect(report.total).toBe(51);
  expect(report.first.map(({ line }) => line)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  expect(Object.entries(report.perField)).toEqual([
    ['notes', 40],
    ['gender', 10],
    ['(line)', 1],
  ]);
});

test('counts 200 names of fields, and all others together', () => {
  const problems = new Problems();
  for (let line = 1; line <= 1000; line += 1) problems.add({ line, field: `made-up-${line}`, sentence: 's' });

  expect(Object.keys(problems.report().perField)).toHaveLength(201);
  expect(problems.report().perField['(others)']).toBe(800);
});

test.each([
  ['colour', 'colour'],
  ['', '(empty name)'],
  ['a\u001b[31m\nb', 'a?[31m?b'],
  ['x'.repeat(5000), `${'x'.repeat(40)}…`],
  ['שם פרטי', 'שם פרטי'],
])('shows a name without control characters, and at most 40 characters of it: %j', (name, shown) => {
  expect(shownName(name)).toBe(shown);
});
