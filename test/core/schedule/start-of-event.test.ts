import { expect, test } from 'vitest';
import { timingOf } from '../../../core/config/timing.ts';
import { startOfEvent } from '../../../core/schedule/next-starts.ts';
import { deployment } from '../../support/builders.ts';

const slot = (settings: Parameters<typeof deployment>[0], event: string) => {
  const found = startOfEvent(timingOf(deployment(settings), 'leads'), new Date(event));
  return found && `${found.date} by ${found.at.toISOString().slice(0, 16)}`;
};

test.each([
  ['in winter', '2026-11-20T00:00:00Z', '2026-11-20 by 2026-11-20T00:00'],
  ['in winter, an hour early', '2026-11-19T23:00:00Z', undefined],
  ['in summer', '2026-07-19T23:00:00Z', '2026-07-20 by 2026-07-19T23:00'],
  ['in summer, an hour late', '2026-07-20T00:00:00Z', undefined],
  ['a few seconds late', '2026-11-20T00:00:07.123Z', '2026-11-20 by 2026-11-20T00:00'],
  ['by a slow clock', '2026-11-19T23:59:12Z', '2026-11-20 by 2026-11-20T00:00'],
  ['on the date without 02:00', '2026-03-27T00:00:00Z', '2026-03-27 by 2026-03-27T00:00'],
  ['on the date without 02:00, an hour early', '2026-03-26T23:00:00Z', undefined],
])('startOfEvent for 02:00 in Jerusalem: %s', (_, event, expected) => {
  expect(slot({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } }, event)).toBe(expected);
});

test('startOfEvent uses the zone offsets of the deployment, even if zone data change', () => {
  // Deployed before summer time was introduced: the rule fires only at 00:00 UTC.
  const deployed = { ...deployment({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } }), zoneOffsets: [120] };
  const timing = timingOf(deployed, 'leads');

  expect(timing.expression).toBe('cron(0 0 * * ? *)');
  expect(startOfEvent(timing, new Date('2026-07-20T00:00:00Z'))?.date).toBe('2026-07-20');
});

test.each([
  ['in winter', '2026-11-20T12:05:20Z', '2026-11-20 by 2026-11-20T12:05'],
  ['in summer', '2026-07-20T05:00:00Z', '2026-07-20 by 2026-07-20T05:00'],
])('a rule that was moved to another time starts one run per date, %s', (_, event, expected) => {
  expect(slot({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } }, event)).toBe(expected);
});

test.each([
  ['on time', '2026-11-20T01:00:00Z', '2026-11-20 by 2026-11-20T01:00'],
  ['a minute late', '2026-11-20T01:01:00Z', '2026-11-20 by 2026-11-20T01:00'],
  ['half an hour early', '2026-11-20T00:30:00Z', '2026-11-20 by 2026-11-20T01:00'],
  ['at another time of the day', '2026-11-20T15:00:59Z', '2026-11-20 by 2026-11-20T15:00'],
])('startOfEvent for a daily UTC start: %s', (_, event, expected) => {
  expect(slot({}, event)).toBe(expected);
});

test.each([
  { nightly: { at: '23:59' } },
  { entities: { leads: { schedule: 'cron(59 23 * * ? *)' } } },
  { entities: { leads: { schedule: 'cron(59 23 ? * * *)' } } },
])('a start before midnight keeps its date even if the event is after midnight: %j', (settings) => {
  expect(slot(settings, '2026-11-21T00:00:30Z')).toBe('2026-11-20 by 2026-11-20T23:59');
});

// Clocks there change by half an hour, so the two starts of a rule are half an hour apart.
test.each([
  ['in summer', '2026-11-19T15:00:00Z', '2026-11-20 by 2026-11-19T15:00'],
  ['in winter', '2026-07-19T15:30:00Z', '2026-07-20 by 2026-07-19T15:30'],
])(
  'in Lord Howe, an event from 15 minutes before to 29 minutes after a start belongs to it, %s',
  (_, start, expected) => {
    const settings = { timeZone: 'Australia/Lord_Howe', nightly: { at: '02:00' } };

    const minutes = Array.from({ length: 45 }, (__, index) => index - 15);
    const slots = minutes.map((late) => slot(settings, new Date(Date.parse(start) + late * 60_000).toISOString()));

    expect(new Set(slots)).toEqual(new Set([expected]));
  },
);

test('in Lord Howe, the other start of the rule has no slot, even if it is a few seconds late', () => {
  const settings = { timeZone: 'Australia/Lord_Howe', nightly: { at: '02:00' } };

  for (const event of ['2026-11-19T15:30:00Z', '2026-11-19T15:30:41Z', '2026-07-19T15:00:00Z', '2026-07-19T15:00:41Z'])
    expect(slot(settings, event)).toBeUndefined();
});

test('an entity with its own schedule has one slot per minute', () => {
  const settings = { entities: { leads: { schedule: 'rate(1 minute)' } } };

  expect(slot(settings, '2026-11-20T15:00:59.9Z')).toBe('2026-11-20 by 2026-11-20T15:00');
  expect(slot(settings, '2026-11-20T15:01:00Z')).toBe('2026-11-20 by 2026-11-20T15:01');
});
