import { expect, test } from 'vitest';
import { instantOf } from '../../core/schedule/local-time.ts';
import { randomFrom, TEST_SEED } from '../support/seeds.ts';
import { runTests } from './support/run-tests.ts';

/**
 * Tests that the tests without a local cloud pass at any time. It sets clocks that have made tests fail, or may. In CI,
 * one unit run tries one of these clocks. Otherwise, the seed of the run adds one clock.
 */

/** On a slow CPU, the tests take several times their usual two to five minutes. */
const WITHIN_MS = 3_600_000;
const PROJECTS = process.env.CI ? ['unit'] : ['unit', 'slow'];

type Clock = readonly [day: string, hour: string, zone: string];

/** A leap day after every date in the tests: time does not run back. */
const LEAP_DAY = '2028-02-29';
/**
 * A leap day, New Year and the days on which the clocks change; UTC has those of Jerusalem. A night begins at 01:00 by
 * default: before it, within its first hour, long after it, and while a test crosses midnight.
 */
const ALL: Clock[] = [
  [LEAP_DAY, '00:30', 'UTC'],
  ['2028-01-01', '01:30', 'UTC'],
  ['2027-03-26', '12:00', 'UTC'],
  ['2027-10-31', '23:59', 'UTC'],
  ['2027-03-26', '00:30', 'Asia/Jerusalem'],
  ['2027-10-31', '01:30', 'Asia/Jerusalem'],
  [LEAP_DAY, '12:00', 'Asia/Jerusalem'],
  ['2027-12-31', '23:59', 'Asia/Jerusalem'],
  ['2027-09-26', '00:30', 'Pacific/Auckland'],
  ['2027-04-04', '01:30', 'Pacific/Auckland'],
  ['2028-01-01', '12:00', 'Pacific/Auckland'],
  [LEAP_DAY, '23:59', 'Pacific/Auckland'],
];
/** A time before the night, on a day that is an hour shorter. `npm test` runs at noon in UTC. */
const IN_CI: Clock[] = [['2027-03-26', '00:30', 'Asia/Jerusalem']];

/** A clock that the seed of the run decides, any minute of four years. */
function drawnClock(): Clock {
  const random = randomFrom(TEST_SEED);
  const moment = new Date(Date.UTC(2027, 0, 1) + random() * 4 * 365 * 86_400_000).toISOString();
  const zones = ['UTC', 'Asia/Jerusalem', 'Pacific/Auckland'];
  return [moment.slice(0, 10), moment.slice(11, 16), zones[Math.floor(random() * zones.length)] ?? 'UTC'];
}

test.for(process.env.CI ? IN_CI : [...ALL, drawnClock()])(
  'on %s at %s in %s every test passes',
  { timeout: WITHIN_MS },
  async ([day, hour, zone], { signal }) => {
    const clock = { TZ: zone, TEST_CLOCK: instantOf(zone, day, hour).toISOString() };

    const { red, tests } = await runTests(PROJECTS, [], clock, signal);

    expect(red).toBe('');
    expect(tests).toBeGreaterThan(3000);
  },
);
