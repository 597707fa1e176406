import { describe, expect, test } from 'vitest';
import { synthesise } from '../../../scripts/synthesise.ts';
import { allOf } from '../support/template.ts';

/**
 * The mails of the alarm NightIncomplete for hourly counts. `test/lambdas/record-night/record-night.test.ts` shows that
 * a check counts a night for six hours after its deadline, and counts nothing if it cannot read it.
 */

/** The number of periods that CloudWatch reads. AWS does not document it; users report three or four. */
const RANGES = [2, 3, 4, 5, 6];
const HOURS = 96;

/** The value of each hourly check; `null` = it writes none. */
type Check = (hour: number) => number | null;

const none: Check = () => 0;
/** The six hours after the deadline of a night, which is at seven. */
const isCounted = (hour: number) => hour % 24 >= 7 && hour % 24 < 13;
const eachNight: Check = (hour) => Number(isCounted(hour));
const thirdNight: Check = (hour) => Number(isCounted(hour) && Math.floor(hour / 24) === 2);
const without =
  (check: Check, from: number, to: number): Check =>
  (hour) =>
    hour >= from && hour < to ? null : check(hour);
/** The values with their times in hours. */
const countsOf = (check: Check) =>
  Array.from({ length: HOURS }, (_, at) => ({ at, value: check(at) })).filter(({ value }) => value !== null);
type Counts = ReturnType<typeof countsOf>;

describe.each(RANGES)('if CloudWatch reads %i periods, the alarm NightIncomplete', (range) => {
  test('sends one mail for each incomplete night, at the first count, and none for complete ones', () => {
    expect(mailsOf(countsOf(eachNight), range)).toEqual([7, 31, 55, 79]);
    expect(mailsOf(countsOf(none), range)).toEqual([]);
  });

  test('is on for a new deployment until the first count, and then mails the next incomplete night', () => {
    expect(mailsOf(countsOf(without(thirdNight, 0, 20)), range, 10)).toEqual([10, 55]);
  });

  test('sends no mail if one check fails or is 45 minutes late', () => {
    const failed = countsOf(without(none, 36, 37));
    const late = [...failed, { at: 36.75, value: 0 }];

    for (const counts of [failed, late]) {
      expect(mailsOf(counts, range)).toEqual([]);
      // With one period it would send a mail.
      expect(mailsOf(counts, 1)).toHaveLength(1);
    }
  });

  test('sends one mail if checks fail for days, after as many hours as it reads', () => {
    expect(mailsOf(countsOf(without(none, 36, HOURS)), range)).toEqual([35 + range]);
  });

  test.each([5, 6])('sends one mail for an incomplete night if %i of the six checks fail', (failing) => {
    expect(mailsOf(countsOf(without(thirdNight, 55, 55 + failing)), range)).toHaveLength(1);
  });
});

/**
 * The hours at which the alarm, which exists from `from` on, is mailed, by the documented rules of CloudWatch. It
 * evaluates periods that end now, so its result changes as a value arrives or gets older. Older periods in the range
 * replace missing ones; if there are too few, CloudWatch fills in as few as possible.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html,
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation-window.html
 */
function mailsOf(counts: Counts, range: number, from = range): number[] {
  const passing = Array.from({ length: range + 1 }, (_, periods) => periods * PERIOD);
  const moments = new Set([from, ...counts.flatMap(({ at }) => passing.map((later) => at + later))]);
  const states = [...moments]
    .filter((now) => now >= from && now < HOURS)
    .sort((one, other) => one - other)
    .map((now) => ({ now, raised: isRaised(counts, now, range) }));
  return states.filter(({ raised }, at) => raised && !states[at - 1]?.raised).map(({ now }) => now);
}

/** The properties of the alarm that decide its state, as in the template. */
const [alarm] = allOf(synthesise(), 'AWS::CloudWatch::Alarm').flatMap(([, { Properties }]) =>
  String(Properties.AlarmName).endsWith('-NightIncomplete') ? [Properties] : [],
);
const PERIOD = Number(alarm?.Period) / 3600;

/** For an alarm on a maximum that reaches a threshold, with missing data as a breach: `test/screens/alarms.txt`. */
function isRaised(counts: Counts, now: number, range: number): boolean {
  const { EvaluationPeriods: wanted, DatapointsToAlarm = wanted, Threshold } = alarm as Record<string, number>;
  const newestFirst = Array.from({ length: range }, (_, back) => {
    const end = now - back * PERIOD;
    return counts.filter(({ at }) => at > end - PERIOD && at <= end).map(({ value }) => Number(value));
  });
  const real = newestFirst.filter((values) => values.length > 0).slice(0, wanted);
  const breaching = real.filter((values) => Math.max(...values) >= Number(Threshold)).length;
  return breaching + (Number(wanted) - real.length) >= Number(DatapointsToAlarm);
}
