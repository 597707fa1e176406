import { expect, test } from 'vitest';
import { dependsOnDate } from '../../../core/config/relative-date.ts';
import { type RunDay, resolveDates } from '../../../core/export/relative-dates.ts';
import { dateAfter, dateIn } from '../../../core/schedule/local-time.ts';
import { runs } from '../../support/runs.ts';

const ZONES = [
  ...['UTC', 'Asia/Jerusalem', 'Europe/London', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca'],
  // Zones in which midnight is skipped or repeated when the clocks change.
  ...['America/Santiago', 'Africa/Cairo', 'Asia/Beirut', 'America/Havana'],
];
const FIRST = '2024-01-01';
const DAYS = 7 * 365 + 2;

const resolved = (value: unknown, date: string, timeZone = 'UTC') =>
  resolveDates({ columns: [], filters: [{ value }] }, { date, timeZone }).filters;
const instantOf = (expression: string, { date, timeZone }: RunDay) =>
  (resolved({ $date: expression, as: 'instant' }, date, timeZone) as { value: string }[])[0]?.value ?? '';

test.each([
  ['day', '2026-11-22', '2026-11-22'],
  ['day-1d', '2026-03-01', '2026-02-28'],
  ['day-1d', '2024-03-01', '2024-02-29'],
  ['day+1d', '2026-12-31', '2027-01-01'],
  ['weekStart', '2026-11-22', '2026-11-16'],
  ['weekStart', '2026-11-23', '2026-11-23'],
  ['weekStart-7d', '2026-11-23', '2026-11-16'],
  ['weekStart', '2026-01-01', '2025-12-29'],
  ['monthStart', '2026-11-30', '2026-11-01'],
  ['monthStart-1d', '2026-03-31', '2026-02-28'],
  ['day-9999d', '2000-01-01', '1972-08-16'],
])('resolves %s of %s to %s', (expression, date, expected) => {
  expect(resolved({ $date: expression }, date)).toEqual([{ value: expected }]);
});

test.each([
  ['Asia/Jerusalem', '2026-11-22', '2026-11-21T22:00:00.000Z'],
  ['Asia/Jerusalem', '2026-07-22', '2026-07-21T21:00:00.000Z'],
  // The clocks moved from midnight to one.
  ['America/Santiago', '2024-09-08', '2024-09-08T04:00:00.000Z'],
  ['Africa/Cairo', '2024-04-26', '2024-04-25T22:00:00.000Z'],
  // At one, the clocks moved back to midnight: the first midnight starts the day.
  ['America/Havana', '2024-11-03', '2024-11-03T04:00:00.000Z'],
])('the instant of midnight in %s on %s is %s', (timeZone, date, expected) => {
  expect(instantOf('day', { date, timeZone })).toBe(expected);
});

test('replaces relative dates at any depth of filters, and changes nothing else', () => {
  const filters = [
    { field: 'a', value: { between: [{ $date: 'day-1d' }, { $date: 'day', as: 'instant' }] }, none: null },
    { field: '$date', operator: 'in', value: ['day', 1, true, []] },
  ];
  const request = { columns: ['$date'], sorts: [{ field: 'a' }], filters, locale: { x: 1 } };

  expect(resolveDates(request, { date: '2026-11-22', timeZone: 'Asia/Jerusalem' })).toEqual({
    ...request,
    filters: [{ ...filters[0], value: { between: ['2026-11-21', '2026-11-21T22:00:00.000Z'] } }, filters[1]],
  });
  expect([filters, [filters[1]], [], undefined].map(dependsOnDate)).toEqual([true, false, false, false]);
});

test('windows of consecutive dates have no gap or overlap in ten zones, over seven years in the long tests', () => {
  const days = runs(DAYS);
  for (const timeZone of ZONES) {
    let begin = instantOf('day', { date: FIRST, timeZone });
    for (let day = 0; day < days; day += 1) {
      const date = dateAfter(FIRST, day);
      const end = instantOf('day+1d', { date, timeZone });
      const first = new Date(begin);
      const last = new Date(Date.parse(end) - 1);
      if (begin >= end || dateIn(timeZone, first) !== date || dateIn(timeZone, last) !== date)
        expect.fail(`${date} in ${timeZone} is from ${begin} to ${end}`);
      begin = end;
    }
    expect(begin).toBe(instantOf('day', { date: dateAfter(FIRST, days), timeZone }));
  }
});
