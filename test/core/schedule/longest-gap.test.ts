import { expect, test } from 'vitest';
import { offsetsFrom, utcStartsOf } from '../../../core/config/timing.ts';
import { longestGapDays } from '../../../core/schedule/next-starts.ts';

const FROM = new Date('2026-11-20T12:00:00Z');
const UTC = { timeZone: 'UTC', starts: null, at: null };

test.each([
  ['cron(30 1 * * ? *)', 1],
  ['cron(0/15 * * * ? *)', 1],
  ['cron(0/15 8-17 ? * MON-FRI *)', 3],
  ['cron(0 1 ? * SUN *)', 7],
  ['cron(0 1 1 * ? *)', 31],
  ['cron(0 1 1,15 * ? *)', 17],
  ['cron(0 1 29 2 ? *)', 1461],
  ['rate(5 minutes)', 1],
  ['rate(36 hours)', 2],
  ['rate(1 day)', 1],
  ['rate(10 days)', 10],
])('%s has at most %i days between two dates with a start', (expression, days) => {
  expect(longestGapDays({ ...UTC, expression }, FROM)).toBe(days);
});

test.each([
  ['12:00', 1],
  // 23:00 UTC in summer, 00:00 UTC in winter: in autumn, one UTC date has no start.
  ['02:00', 2],
])('a start at %s in Jerusalem has at most %i days between two UTC dates with a start', (at, days) => {
  const starts = utcStartsOf(at, offsetsFrom(2026, 'Asia/Jerusalem'));

  expect(longestGapDays({ timeZone: 'Asia/Jerusalem', expression: '', starts, at }, FROM)).toBe(days);
});
