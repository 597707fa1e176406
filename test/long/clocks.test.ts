import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { instantOf } from '../../core/schedule/local-time.ts';
import { tempDir } from '../support/project.ts';
import { randomFrom, TEST_SEED } from '../support/seeds.ts';

/**
 * Tests that the tests without a local cloud pass at any time. It sets clocks that have made tests fail, or may. In CI,
 * one unit run tries one of these clocks. Otherwise, the seed of the run adds one clock.
 */

const ROOT = join(import.meta.dirname, '../..');
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

/** The environment of a test run at a clock. */
function runAt(at: Date, zone: string): NodeJS.ProcessEnv {
  // Vitest marks its child processes as its workers by variables.
  const own = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_OPTIONS|NODE_ENV)/.test(name));
  return { ...Object.fromEntries(own), TZ: zone, TEST_CLOCK: at.toISOString() };
}

const reportSchema = z.object({
  numTotalTests: z.number(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string(),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()) }),
      ),
    }),
  ),
});

/** The failed tests at a clock, with reasons, and the number of tests. */
async function redAt(at: Date, zone: string, signal: AbortSignal): Promise<{ red: string[]; tests: number }> {
  const report = join(await tempDir(), 'report.json');
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...PROJECTS.flatMap((name) => ['--project', name])];
  const args = [...vitest, '--reporter=json', `--outputFile=${report}`];
  const options = { cwd: ROOT, env: runAt(at, zone), maxBuffer: 1 << 28, signal };
  // Failed tests make the exit code 1: the report lists them.
  await promisify(execFile)(process.execPath, args, options).catch(() => undefined);
  const { numTotalTests, testResults } = reportSchema.parse(JSON.parse(await readFile(report, 'utf8')));
  const red = testResults.flatMap(({ name, status, message, assertionResults }) => [
    ...(status !== 'passed' && message ? [`${name}: ${message}`] : []),
    ...assertionResults
      .filter((one) => one.status === 'failed')
      .map(({ fullName, failureMessages }) => `${name}: ${fullName}: ${failureMessages[0] ?? ''}`),
  ]);
  return { red, tests: numTotalTests };
}

test.for(process.env.CI ? IN_CI : [...ALL, drawnClock()])(
  'on %s at %s in %s every test passes',
  { timeout: WITHIN_MS },
  async ([day, hour, zone], { signal }) => {
    const { red, tests } = await redAt(instantOf(zone, day, hour), zone, signal);

    expect(red).toEqual([]);
    expect(tests).toBeGreaterThan(5000);
  },
);
