import { expect, test } from 'vitest';
import { timingOf } from '../../../core/config/timing.ts';
import { nextStarts } from '../../../core/schedule/next-starts.ts';
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
  ['cron(0/40 12 * * ? *)', ['2026-11-20T12:40', '2026-11-21T12:00', '2026-11-21T12:40']],
  ['cron(15 3 ? * MON-FRI *)', ['2026-11-23T03:15', '2026-11-24T03:15', '2026-11-25T03:15']],
  ['cron(15 3 ? * 1 *)', ['2026-11-22T03:15', '2026-11-29T03:15', '2026-12-06T03:15']],
  ['cron(0 1 1 JAN,JUL ? *)', ['2027-01-01T01:00', '2027-07-01T01:00', '2028-01-01T01:00']],
  ['cron(0 1 L * ? *)', ['2026-11-30T01:00', '2026-12-31T01:00', '2027-01-31T01:00']],
  // The last day of January 2027 is a Sunday.
  ['cron(0 1 LW * ? *)', ['2026-11-30T01:00', '2026-12-31T01:00', '2027-01-29T01:00']],
  // 15 November 2026 is a Sunday in the past, 15 August 2026 was a Saturday.
  ['cron(0 1 15W * ? *)', ['2026-12-15T01:00', '2027-01-15T01:00', '2027-02-15T01:00']],
  ['cron(0 1 1W MAY ? *)', ['2027-05-03T01:00', '2028-05-01T01:00', '2029-05-01T01:00']],
  ['cron(0 1 1W AUG ? *)', ['2027-08-02T01:00', '2028-08-01T01:00', '2029-08-01T01:00']],
  ['cron(0 1 ? * L *)', ['2026-11-21T01:00', '2026-11-28T01:00', '2026-12-05T01:00']],
  ['cron(0 1 ? * 6L *)', ['2026-11-27T01:00', '2026-12-25T01:00', '2027-01-29T01:00']],
  ['cron(0 1 ? * 3#2 *)', ['2026-12-08T01:00', '2027-01-12T01:00', '2027-02-09T01:00']],
  ['cron(0 1 29 2 ? *)', ['2028-02-29T01:00', '2032-02-29T01:00']],
  ['cron(0 1 * * ? 2025)', []],
  ['cron(0 1 30 2 ? *)', []],
])('nextStarts of %s', (expression, expected) => {
  expect(times(expression)).toEqual(expected);
});
