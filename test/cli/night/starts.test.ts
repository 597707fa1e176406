import { expect, test } from 'vitest';
import { nightOf, startsOf } from '../../../cli/night/starts.ts';
import { nightlyPlanOf } from '../../../cli/schedule/nightly-plan.ts';
import { ENTITIES } from '../../../core/config/entities.ts';
import { deployment } from '../../support/builders.ts';

const local = (at: string, spreadMinutes = 7, timeZone = 'Asia/Jerusalem') =>
  nightlyPlanOf(deployment({ timeZone, nightly: { at, spreadMinutes } }));
const datesOf = (plan: ReturnType<typeof local>, now: string) => [...nightOf(plan, new Date(now)).values()];

test('of a local time each date has one start, on the nights on which clocks change too', () => {
  const starts = (now: string) =>
    startsOf(local('02:00').timing.leads, new Date(Date.parse(now) - 3 * 86_400_000), new Date(now)).map(
      ({ at, date }) => `${date} ${at.toISOString().slice(11, 16)}`,
    );

  expect(starts('2026-03-28T12:00:00Z')).toEqual([
    ...['2026-03-26 00:00', '2026-03-27 00:00', '2026-03-28 23:00', '2026-03-29 23:00'],
  ]);
  expect(starts('2026-10-25T12:00:00Z')).toEqual([
    ...['2026-10-23 23:00', '2026-10-24 23:00', '2026-10-25 00:00', '2026-10-26 00:00'],
  ]);
});

test.each(['2026-03-27T00:30:00Z', '2026-10-25T00:30:00Z', '2026-11-20T00:30:00Z'])(
  'in the middle of a night all of its runs have one date: %s',
  (now) => {
    expect(new Set(datesOf(local('01:50'), now))).toEqual(new Set([now.slice(0, 10)]));
    // Two hours of starts, of which clocks leave out one.
    expect(new Set(datesOf(local('01:50', 20), now))).toEqual(new Set([now.slice(0, 10)]));
  },
);

test('where clocks leave out the first start, it comes behind the second, in the same night', () => {
  expect(new Set(datesOf(local('02:30', 30), '2026-03-27T00:40:00Z'))).toEqual(new Set(['2026-03-27']));
});

test('the night before counts until the first start', () => {
  const night = (now: string) => new Set(datesOf(local('02:00'), now));

  expect(night('2026-11-19T23:59:00Z')).toEqual(new Set(['2026-11-19']));
  expect(night('2026-11-20T00:00:00Z')).toEqual(new Set(['2026-11-20']));
});

test('local starts that are spread over midnight are one night of two dates', () => {
  const two = ['2026-11-20', '2026-11-20', ...Array(ENTITIES.length - 2).fill('2026-11-21')];

  expect(datesOf(local('23:50'), '2026-11-20T21:55:00Z')).toEqual(two);
  expect(datesOf(local('23:50'), '2026-11-21T21:49:00Z')).toEqual(two);
});

test('an entity in UTC among local ones is of the same night', () => {
  const entities = { meetings: { schedule: 'cron(30 0 * * ? *)' } };
  const plan = nightlyPlanOf(deployment({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' }, entities }));

  expect(new Set(datesOf(plan, '2026-11-20T00:10:00Z'))).toEqual(new Set(['2026-11-20']));
  expect(new Set(datesOf(plan, '2026-07-20T00:10:00Z'))).toEqual(new Set(['2026-07-20']));
});
