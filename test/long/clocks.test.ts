import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { instantOf } from '../../core/schedule/local-time.ts';
import { tempDir } from '../local/support/support.ts';
import { clockSensitiveTests } from './support/clock-sensitive.ts';

/**
 * The tests of the unit project hold at any hour of any day: those that touch the clock are run at clocks that have made tests
 * red, or may. In CI at four of them, one each day, which have each hour, each kind of day and each zone.
 */

const ROOT = join(import.meta.dirname, '../..');
const PRELOAD = pathToFileURL(join(ROOT, 'test/support/shifted-clock.ts')).href;
const FILES = clockSensitiveTests(ROOT);

/** A night begins at 01:00 by default: before it, within its first hour, long after it, and while a test crosses midnight. */
const HOURS = ['00:30', '01:30', '12:00', '23:59'];
/** Later than every date that tests name: time does not run back. */
const LEAP_DAY = '2028-02-29';
/** The hours lie on both sides of the turn. */
const newYear = (hour: string) => (hour < '12:00' ? '2028-01-01' : '2027-12-31');
/** The days on which clocks are set forward and back; UTC has those of Jerusalem. */
const ZONES = {
  UTC: ['2027-03-26', '2027-10-31'],
  'Asia/Jerusalem': ['2027-03-26', '2027-10-31'],
  'Pacific/Auckland': ['2027-09-26', '2027-04-04'],
};
const ALL = Object.entries(ZONES).flatMap(([zone, changes]) =>
  HOURS.flatMap((hour) =>
    [LEAP_DAY, newYear(hour), ...changes].map((day): [string, string, string] => [day, hour, zone]),
  ),
);
const IN_CI: typeof ALL = [
  ['2027-03-26', '00:30', 'Asia/Jerusalem'],
  ['2028-01-01', '01:30', 'UTC'],
  ['2028-02-29', '12:00', 'UTC'],
  ['2027-04-04', '23:59', 'Pacific/Auckland'],
];

/** Each takes more than a minute: another one each day. */
const BY_THE_DAY = IN_CI.filter((_, place) => place === new Date().getUTCDate() % IN_CI.length);

/** What a Node process gets to be in a zone, at a clock that ticks on from a moment. */
function shiftedTo(at: Date, zone: string): NodeJS.ProcessEnv {
  // Vitest tells the processes that it starts, by variables, that they are its workers.
  const own = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST|NODE_OPTIONS|NODE_ENV)/.test(name));
  const shift = String(at.getTime() - Date.now());
  return { ...Object.fromEntries(own), TZ: zone, CLOCK_SHIFT_MS: shift, NODE_OPTIONS: `--import=${PRELOAD}` };
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

/** What is red at a clock, with why, and how many tests there were. @param given none: all of the unit project */
async function redAt(
  at: Date,
  zone: string,
  given: string[],
  signal: AbortSignal,
): Promise<{ red: string[]; tests: number; files: number }> {
  const report = join(await tempDir(), 'report.json');
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--project', 'slow'];
  const args = [...vitest, '--reporter=json', `--outputFile=${report}`, ...given];
  const options = { cwd: ROOT, env: shiftedTo(at, zone), maxBuffer: 1 << 28, signal };
  // Red tests make its exit code 1: the report says which.
  await promisify(execFile)(process.execPath, args, options).catch(() => undefined);
  const { numTotalTests, testResults } = reportSchema.parse(JSON.parse(await readFile(report, 'utf8')));
  const red = testResults.flatMap(({ name, status, message, assertionResults }) => [
    ...(status !== 'passed' && message ? [`${name}: ${message}`] : []),
    ...assertionResults
      .filter((one) => one.status === 'failed')
      .map(({ fullName, failureMessages }) => `${name}: ${fullName}: ${failureMessages[0] ?? ''}`),
  ]);
  return { red, tests: numTotalTests, files: testResults.length };
}

test('a process at a shifted clock, and one that it starts, read one clock that ticks on', async () => {
  const code = `
    const { spawnSync } = require('node:child_process');
    const own = [new Date(), Date.now(), new Date(Date()), new Date(Reflect.construct(Date, []))].map(Number);
    const child = spawnSync(process.execPath, ['-p', 'Date.now() + " " + new Date(2028, 1, 29).getTimezoneOffset()']);
    console.log(JSON.stringify([...own, ...String(child.stdout).split(' ').map(Number), new Date(0) instanceof Date]));`;
  const at = instantOf('Asia/Jerusalem', LEAP_DAY, '00:30');

  const { stdout } = await promisify(execFile)(process.execPath, ['-e', code], {
    env: shiftedTo(at, 'Asia/Jerusalem'),
  });

  const [first, ...rest]: number[] = JSON.parse(stdout);
  const [offset, isDate] = rest.splice(-2);
  expect([offset, isDate]).toEqual([-120, true]);
  for (const time of [first, ...rest]) {
    expect(time).toBeGreaterThanOrEqual(at.getTime());
    expect(time).toBeLessThan(at.getTime() + 60_000);
  }
  expect(rest.at(-1)).toBeGreaterThan(first ?? 0);
});

test('files are found by what they do: those that name their clock, and those that run a command line', () => {
  expect(FILES).toEqual(
    expect.arrayContaining([
      'test/cli/report/deployments.test.ts',
      'test/cli/schedule/plan.test.ts',
      'test/cli/operator.test.ts',
    ]),
  );
  expect(FILES).not.toContain('test/core/files/csv-scan.test.ts');
});

test.for(process.env.CI ? BY_THE_DAY : ALL)(
  'on %s at %s in %s every test that touches the clock is green',
  async ([day, hour, zone], { signal }) => {
    const { red, tests, files } = await redAt(instantOf(zone, day, hour), zone, FILES, signal);

    expect(red).toEqual([]);
    expect(files).toBe(FILES.length);
    expect(tests).toBeGreaterThan(500);
  },
);

// What the zone of the machine changes is not found by looking for the clock.
test.skipIf(process.env.CI).for(Object.keys(ZONES))(
  'on 29 February the whole unit project is green in %s',
  async (zone, { signal }) => {
    const { red, files } = await redAt(instantOf(zone, LEAP_DAY, '00:30'), zone, [], signal);

    expect(red).toEqual([]);
    expect(files).toBeGreaterThan(FILES.length);
  },
);
