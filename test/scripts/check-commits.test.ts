import { expect, test } from 'vitest';
import { subjectProblems } from '../../scripts/check-commits.ts';

const longest = `feat(cli): ${'a'.repeat(61)}`;

test.each([longest, 'fix: read the last page', 'build(deps)!: drop Node 20'])('"%s" is accepted', (subject) => {
  expect(subjectProblems(subject)).toEqual([]);
});

test.each(['Read the last page', 'feature: read the last page', 'fix:read the last page'])(
  'refuses the subject "%s"',
  (subject) => {
    expect(subjectProblems(subject)).toEqual([expect.stringContaining('"type(scope): summary"')]);
  },
);

test('a subject with more than 72 characters is refused', () => {
  expect(subjectProblems(`${longest}a`)).toEqual(['has 73 characters, at most 72 are allowed']);
});
