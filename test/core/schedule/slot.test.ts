import { expect, test } from 'vitest';
import { timingOf } from '../../../core/config/timing.ts';
import { slotOf } from '../../../core/schedule/next-starts.ts';
import { deployment } from '../../support/builders.ts';

const slot = (settings: Parameters<typeof deployment>[0], event: string) => {
  const found = slotOf(timingOf(deployment(settings), 'leads'), new Date(event));
  return found && `${found.date} by ${found.at.toISOString().slice(0, 16)}`;
};

test.each([
  ['in winter', '2026-11-20T00:00:00Z', '2026-11-20 by 2026-11-20T00:00'],
  ['in winter, an hour early', '2026-11-19T23:00:00Z', undefined],
  ['in summer', '2026-07-19T23:00:00Z', '2026-07-20 by 2026-07-19T23:00'],
  ['in summer, an hour late', '2026-07-20T00:00:00Z', undefined],
  ['when it fires, a few seconds late', '2026-11-20T00:00:07.123Z', '2026-11-20 by 2026-11-20T00:00'],
  ['by a clock that is slow', '2026-11-19T23:59:12Z', '2026-11-20 by 2026-11-20T00:00'],
  ['where 02:00 does not exist, as 03:00', '2026-03-27T00:00:00Z', '2026-03-27 by 2026-03-27T00:00'],
  ['on that night, an hour early', '2026-03-26T23:00:00Z', undefined],
])('02:00 in Jerusalem %s', (_, event, expected) => {
  expect(slot({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } }, event)).toBe(expected);
});

test('a function keeps to the offsets that its rules were made with', () => {
  // Deployed before summer time was introduced: the rule fires only at 00:00 UTC.
  const deployed = { ...deployment({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } }), zoneOffsets: [120] };
  const timing = timingOf(deployed, 'leads');

  expect(timing.expression).toBe('cron(0 0 * * ? *)');
  expect(slotOf(timing, new Date('2026-07-20T00:00:00Z'))?.date).toBe('2026-07-20');
});

test.each([
  ['in winter', '2026-11-20T12:05:20Z', '2026-11-20 by 2026-11-20T12:05'],
  ['in summer', '2026-07-20T05:00:00Z', '2026-07-20 by 2026-07-20T05:00'],
])('a rule that somebody has moved to another time starts a run a date, %s', (_, event, expected) => {
  expect(slot({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } }, event)).toBe(expected);
});

test('of a time that comes twice, the first counts', () => {
  const settings = { timeZone: 'Asia/Jerusalem', nightly: { at: '01:30' } };

  expect(slot(settings, '2026-10-24T22:30:00Z')).toBe('2026-10-25 by 2026-10-24T22:30');
  expect(slot(settings, '2026-10-24T23:30:00Z')).toBeUndefined();
});

test('midnight that does not exist is one in the morning, of the date that begins then', () => {
  const settings = { timeZone: 'America/Santiago', nightly: { at: '00:00' } };

  expect(slot(settings, '2026-09-06T04:00:00Z')).toBe('2026-09-06 by 2026-09-06T04:00');
  expect(slot(settings, '2026-09-06T03:00:00Z')).toBeUndefined();
});

test.each([
  ['on time', '2026-11-20T01:00:00Z', '2026-11-20 by 2026-11-20T01:00'],
  ['a minute late', '2026-11-20T01:01:00Z', '2026-11-20 by 2026-11-20T01:00'],
  ['half an hour early', '2026-11-20T00:30:00Z', '2026-11-20 by 2026-11-20T01:00'],
  ['at another time of the day', '2026-11-20T15:00:59Z', '2026-11-20 by 2026-11-20T15:00'],
])('an event of a daily start in UTC, %s', (_, event, expected) => {
  expect(slot({}, event)).toBe(expected);
});

test('a start just before midnight keeps its date, though the event says a moment after', () => {
  expect(slot({ nightly: { at: '23:59' } }, '2026-11-21T00:00:30Z')).toBe('2026-11-20 by 2026-11-20T23:59');
});

// Clocks there change by half an hour, so the two starts of a rule are half an hour apart.
test.each([
  ['in summer', '2026-11-19T15:00:00Z', '2026-11-20 by 2026-11-19T15:00'],
  ['in winter', '2026-07-19T15:30:00Z', '2026-07-20 by 2026-07-19T15:30'],
])(
  'an event up to half an hour behind the start of Lord Howe belongs to it, or a quarter before, %s',
  (_, start, expected) => {
    const settings = { timeZone: 'Australia/Lord_Howe', nightly: { at: '02:00' } };

    const minutes = Array.from({ length: 45 }, (__, index) => index - 15);
    const slots = minutes.map((late) => slot(settings, new Date(Date.parse(start) + late * 60_000).toISOString()));

    expect(new Set(slots)).toEqual(new Set([expected]));
  },
);

test('the other start of Lord Howe is none when it fires, nor a few seconds later', () => {
  const settings = { timeZone: 'Australia/Lord_Howe', nightly: { at: '02:00' } };

  for (const event of ['2026-11-19T15:30:00Z', '2026-11-19T15:30:41Z', '2026-07-19T15:00:00Z', '2026-07-19T15:00:41Z'])
    expect(slot(settings, event)).toBeUndefined();
});

test('the starts of a schedule of its own are told apart by the minute', () => {
  const settings = { entities: { leads: { schedule: 'rate(1 minute)' } } };

  expect(slot(settings, '2026-11-20T15:00:59.9Z')).toBe('2026-11-20 by 2026-11-20T15:00');
  expect(slot(settings, '2026-11-20T15:01:00Z')).toBe('2026-11-20 by 2026-11-20T15:01');
});
