import { expect, test } from 'vitest';
import { offsetsFrom, timingOf, utcStartsOf } from '../../../core/config/timing.ts';
import { isSchedule, longestGapDays, nextStarts } from '../../../core/schedule/next-starts.ts';
import { deployment } from '../../support/builders.ts';

const NIGHT = '2026-11-20T12:00:00Z';
const starts = (settings: Parameters<typeof deployment>[0], count = 3, after = NIGHT) =>
  nextStarts(timingOf(deployment(settings), 'leads'), new Date(after), count)?.map(
    ({ at, date }) => `${date} ${at.toISOString().slice(0, 16)}`,
  );
const times = (schedule: string, count = 3, after = NIGHT) =>
  starts({ entities: { leads: { schedule } } }, count, after)?.map((start) => start.split(' ')[1]);

test('a clock change moves UTC starts in local time, and local starts in UTC', () => {
  const change = '2026-10-23T12:00:00Z';

  expect(
    starts({ timeZone: 'Asia/Jerusalem', entities: { leads: { schedule: 'cron(30 22 * * ? *)' } } }, 2, change),
  ).toEqual(['2026-10-24 2026-10-23T22:30', '2026-10-25 2026-10-24T22:30']);
  expect(starts({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } }, 3, change)).toEqual([
    '2026-10-24 2026-10-23T23:00',
    '2026-10-25 2026-10-25T00:00',
    '2026-10-26 2026-10-26T00:00',
  ]);
  expect(starts({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } }, 3, '2026-10-22T22:00:00Z')).toHaveLength(3);
});

test('nextStarts leaves out a start at the current moment', () => {
  expect(starts({}, 1, '2026-11-20T01:00:00Z')).toEqual(['2026-11-21 2026-11-21T01:00']);
  expect(starts({ nightly: { at: '01:00' } }, 1, '2026-11-20T01:00:00Z')).toEqual(['2026-11-21 2026-11-21T01:00']);
});

test('nextStarts returns undefined for a rate', () => {
  expect(times('rate(1 hour)')).toBeUndefined();
});

test.each([
  ['cron(0 8,20 * * ? *)', ['2026-11-20T20:00', '2026-11-21T08:00', '2026-11-21T20:00']],
  ['cron(0 18,6,0,12 * * ? *)', ['2026-11-20T18:00', '2026-11-21T00:00', '2026-11-21T06:00']],
  ['cron(0/40 12 * * ? *)', ['2026-11-20T12:40', '2026-11-21T12:00', '2026-11-21T12:40']],
  ['cron(15 3 ? * MON-FRI *)', ['2026-11-23T03:15', '2026-11-24T03:15', '2026-11-25T03:15']],
  ['cron(15 3 ? * 1 *)', ['2026-11-22T03:15', '2026-11-29T03:15', '2026-12-06T03:15']],
  ['cron(0 1 10/15 JAN,JUL ? *)', ['2027-01-10T01:00', '2027-01-25T01:00', '2027-07-10T01:00']],
  ['cron(0 1 L * ? *)', ['2026-11-30T01:00', '2026-12-31T01:00', '2027-01-31T01:00']],
  // The last day of January 2027 is a Sunday.
  ['cron(0 1 LW * ? *)', ['2026-11-30T01:00', '2026-12-31T01:00', '2027-01-29T01:00']],
  // 15 November 2026 is a Sunday in the past, 15 August 2026 was a Saturday.
  ['cron(0 1 15W * ? *)', ['2026-12-15T01:00', '2027-01-15T01:00', '2027-02-15T01:00']],
  ['cron(0 1 1W MAY ? *)', ['2027-05-03T01:00', '2028-05-01T01:00', '2029-05-01T01:00']],
  ['cron(0 1 1W AUG ? *)', ['2027-08-02T01:00', '2028-08-01T01:00', '2029-08-01T01:00']],
  // In 2027, the day after 30 April is a Saturday.
  ['cron(0 1 31W APR ? *)', []],
  ['cron(0 1 ? * L *)', ['2026-11-21T01:00', '2026-11-28T01:00', '2026-12-05T01:00']],
  ['cron(0 1 ? * 6L *)', ['2026-11-27T01:00', '2026-12-25T01:00', '2027-01-29T01:00']],
  ['cron(0 1 ? * 3#2 *)', ['2026-12-08T01:00', '2027-01-12T01:00', '2027-02-09T01:00']],
  ['cron(0 1 29 2 ? *)', ['2028-02-29T01:00', '2032-02-29T01:00']],
  ['cron(0 1 * * ? 2025)', []],
  ['cron(0 1 30 2 ? *)', []],
])('nextStarts of %s', (expression, expected) => {
  expect(times(expression)).toEqual(expected);
});

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
  const starts = utcStartsOf(at, offsetsFrom('Asia/Jerusalem', 2026));

  expect(longestGapDays({ timeZone: 'Asia/Jerusalem', expression: '', starts, at }, FROM)).toBe(days);
});

test.each([
  ...['rate(1 minute)', 'rate(12 hours)', 'cron(0/15 1-5 ? * MON-FRI *)'],
  ...['cron(0 8 1 JAN,JUL ? 2026-2030)', 'cron(15 12 ? * 6#3 *)', 'cron(0 0 15W * ? *)'],
])('accepts %s', (expression) => {
  expect(isSchedule(expression)).toBe(true);
});

test.each([
  ...['0 1 * * *', 'cron(0 1 * * *)', 'cron(0 1 * * * *)', 'cron(0 1 ? * ? *)', 'cron(? 1 * * ? *)'],
  ...['cron(99 1 * * ? *)', 'cron(0 1 ? * MOO *)', 'cron(5-1 1 * * ? *)', 'cron(0/0 1 * * ? *)'],
  ...['cron(0 1 * * ? 1969)', 'rate(1 minutes)', 'rate(5 minute)', 'rate(0 minutes)', 'cron(0 1 0W,32W * ? *)', ''],
])('refuses %s', (expression) => {
  expect(isSchedule(expression)).toBe(false);
});
