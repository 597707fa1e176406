import { expect, test } from 'vitest';
import { cronOf, offsetsFrom, utcStartsOf } from '../../../core/config/timing.ts';
import { dateAfter, offsetAt } from '../../../core/schedule/local-time.ts';
import { cronTimes, startOfEvent, type Timing } from '../../../core/schedule/next-starts.ts';

/** Each zone with the start that its clock changes affect most: skipped, repeated, or next to midnight. */
const ZONES: [zone: string, at: string][] = [
  ['Asia/Jerusalem', '02:00'],
  ['Europe/London', '01:30'],
  ['America/New_York', '02:30'],
  ['America/Santiago', '00:00'],
  ['Africa/Cairo', '00:30'],
  ['Australia/Lord_Howe', '02:00'],
  ['Africa/Casablanca', '02:30'],
  ['Pacific/Chatham', '02:45'],
  ['America/Nuuk', '23:30'],
  ['Asia/Kolkata', '00:00'],
];
const FIRST = '2024-01-01';
const LAST = '2030-12-31';

test.each(ZONES)(
  'in %s, a nightly start (%s and others) runs once per date around clock changes, even for early or late events',
  (timeZone, own) => {
    const changes = datesFrom(FIRST, LAST).filter((date) => {
      const noon = Date.parse(`${date}T12:00Z`);
      return offsetAt(timeZone, noon) !== offsetAt(timeZone, noon - 86_400_000);
    });
    const times = ['00:00', '00:20', '01:30', '02:00', '02:15', '03:00', '22:45', '23:59'];
    const offsets = offsetsFrom(timeZone, 2024);

    expect(changes.length > 0).toBe(timeZone !== 'Asia/Kolkata');
    for (const [index, change] of changes.entries()) {
      const [from, to] = [dateAfter(change, -2), dateAfter(change, 2)];
      for (const time of [own, times[index % times.length] ?? '']) {
        const timing = timingIn(timeZone, time, 2024, offsets);
        for (const seconds of [-30, 0, 600])
          expect(datesLetThrough(timing, from, to, seconds), `${time} of ${change}`).toEqual(datesFrom(from, to));
      }
    }
  },
);

test.each([
  ['is abolished', 'Asia/Jerusalem', 'Etc/GMT-2'],
  ['changes to all year', 'Asia/Jerusalem', 'Etc/GMT-3'],
  ['is introduced', 'Etc/GMT-2', 'Asia/Jerusalem'],
  ['changes to half an hour', 'Australia/Sydney', 'Australia/Lord_Howe'],
  ['changes to other days', 'Europe/Berlin', 'America/New_York'],
])('starts one run per date if summer time %s after the rules were made', (_, before, since) => {
  const { starts, expression } = timingIn(before, '02:00', 2026);
  const timing = { ...timingIn(since, '02:00', 2026), starts, expression };

  const runs = datesLetThrough(timing, '2026-01-01', '2027-12-31');

  expect(runs).toEqual(datesFrom('2026-01-01', '2027-12-31'));
});

function timingIn(timeZone: string, at: string, year = 2024, offsets = offsetsFrom(timeZone, year)) {
  const starts = utcStartsOf(at, offsets);
  return { timeZone, at, starts, expression: cronOf(starts) };
}

/** The dates of the claimed starts, when the rule fires and the event names a time `seconds` later. */
function datesLetThrough(timing: Timing & { starts: string[] }, from: string, to: string, seconds = 0): string[] {
  const days = datesFrom(dateAfter(from, -2), dateAfter(to, 2)).length;
  const first = new Date(`${dateAfter(from, -2)}T00:00Z`);
  const fired = cronTimes(timing.expression, first, days * timing.starts.length);
  const slots = fired.flatMap((time) => startOfEvent(timing, new Date(time.getTime() + seconds * 1000)) ?? []);
  const dates = new Map(slots.map(({ at, date }) => [at.getTime(), date]));
  return [...dates.values()].filter((date) => from <= date && date <= to).sort();
}

function datesFrom(from: string, to: string): string[] {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
  return Array.from({ length: days + 1 }, (_, day) => dateAfter(from, day));
}
