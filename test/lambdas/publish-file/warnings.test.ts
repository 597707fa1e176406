import { expect, test } from 'vitest';
import { warningsOf } from '../../../lambdas/publish-file/make-manifest.ts';

const moved = { unansweredCreates: 0, restarts: 0, undeclaredEnd: false };

test('a file that came as it should gives no warning', () => {
  expect(warningsOf(moved)).toEqual([]);
});

test.each([
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
  expect(warningsOf({ ...moved, ...overrides })).toEqual([warning]);
});
