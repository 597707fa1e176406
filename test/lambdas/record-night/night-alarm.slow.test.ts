import { describe, expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { offsetsNow } from '../../../core/config/timing.ts';
import { RunError } from '../../../core/errors.ts';
import { startsOfNight, timesOfNight } from '../../../core/night/night-schedule.ts';
import { SINCE_KEY } from '../../../core/night/watched-since.ts';
import { dateAfter } from '../../../core/schedule/local-time.ts';
import { checkNights } from '../../../lambdas/record-night/check-nights.ts';
import { synthesise } from '../../../scripts/synthesise.ts';
import { allOf } from '../../lib/support/template.ts';
import { type Count, type EvaluatedAlarm, mailsOf } from '../../support/alarm-evaluation.ts';
import { deployment } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { fakeBucket } from '../../support/fake-bucket.ts';
import { publishRun } from '../../support/recorded-night.ts';

const [alarm] = allOf(synthesise(), 'AWS::CloudWatch::Alarm').flatMap(([, { Properties }]) =>
  String(Properties.AlarmName).endsWith('-NightIncomplete') ? [Properties as EvaluatedAlarm] : [],
);
if (!alarm) throw new Error('There is no alarm of the night.');
const alarmOfNight = alarm;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const POLLING = { firstWaitSeconds: 15, largestWaitSeconds: 300, deadlineSeconds: 21_600 };
/** The number of periods that CloudWatch reads. AWS does not document it; users report three or four. */
const RANGES = [2, 3, 4, 5, 6];

/** The fault of the check that is due at a time: it fails, cannot read, or is that many minutes late. */
type Trouble = (due: Date) => 'fails' | 'cannot read' | number;

interface Nights {
  settings?: Parameters<typeof deployment>[0];
  /** The first date of four. */
  from?: string;
  /** The time between start and publication; `null`: never published. */
  after?: (entity: Entity, date: string) => number | null;
  checks?: Trouble;
  /** The time of the deployment; by default long before. */
  madeAt?: string;
}

/** Three entities are enough and faster to check. */
const OFF = Object.fromEntries(ENTITIES.slice(3).map((entity) => [entity, { enabled: false }]));
const MONDAY = '2026-11-16';
const DAYS = 4;
const SOON = 10 * MINUTE_MS;

/** The counts of the checks over four nights, until long after the last deadline. */
async function nightsFrom({ settings = {}, from = MONDAY, after = () => SOON, checks = () => 0, madeAt }: Nights) {
  const configured = deployment({ polling: POLLING, ...settings, entities: { ...OFF, ...settings.entities } });
  // The functions have the offsets: computing them takes longer than the rest of the test.
  configured.zoneOffsets = offsetsNow(configured.timeZone);
  let down = false;
  const before = () => {
    if (down) throw new RunError('StorageUnavailable', 'Down.');
  };
  const bucket = fakeBucket({ before });
  const dates = Array.from({ length: DAYS }, (_, day) => dateAfter(from, day));
  if (madeAt === undefined) bucket.put(SINCE_KEY, '{"since":"2026-01-01T00:00:00.000Z"}');
  // The nights before and after are complete.
  const around = [dateAfter(from, -2), dateAfter(from, -1), ...dates, dateAfter(from, DAYS)];
  const publications = around.flatMap((date) =>
    [...startsOfNight(configured, date)].flatMap(([entity, { at }]) => {
      const delay = dates.includes(date) ? after(entity, date) : SOON;
      return delay === null ? [] : [{ entity, date, at: at.getTime() + delay }];
    }),
  );
  const deps = { ...testDeps({ deployment: configured }), bucket };
  const counts: Count[] = [];
  // Half a day of checks before the first night, as for every deployment.
  const begin = Date.parse(madeAt ?? `${dateAfter(from, -1)}T12:00:00Z`);
  const end = Date.parse(`${dateAfter(from, DAYS)}T23:59:00Z`);
  for (let due = Math.ceil(begin / HOUR_MS - 0.5) * HOUR_MS + 30 * MINUTE_MS; due <= end; due += HOUR_MS) {
    const trouble = checks(new Date(due));
    if (trouble === 'fails') continue;
    const at = due + (typeof trouble === 'number' ? trouble * MINUTE_MS : 0);
    for (const { entity, date } of publications.filter((one) => one.at <= at)) {
      publishRun(bucket, { entity, date, execution: `${entity}-${date}` });
    }
    down = trouble === 'cannot read';
    const known = deps.log.measured.length;
    // The event contains the due time.
    await checkNights(new Date(due), deps);
    for (const { values } of deps.log.measured.slice(known)) counts.push({ at, value: values.NightIncomplete ?? -1 });
  }
  const deadlines = dates.map((date) => timesOfNight(configured, date)?.deadline.getTime() ?? Number.NaN);
  /** The times of mails, in UTC. Each check before the first night had a number, except for a new deployment. */
  const mails = (range: number) =>
    mailsOf(alarmOfNight, counts, { from: madeAt ? begin : begin + range * HOUR_MS, to: end, range });
  /** The dates whose deadline lies within the two hours before each mail. */
  const datesMailed = (range: number) =>
    mails(range).map((at) =>
      dates.findLast((_, index) => at >= (deadlines[index] ?? 0) && at - (deadlines[index] ?? 0) <= 2 * HOUR_MS),
    );
  return { counts, dates, mails, datesMailed };
}

const timeOf = (at = Number.NaN) => new Date(at).toISOString().slice(0, 16);
const inJerusalem = (at: string) => ({ timeZone: 'Asia/Jerusalem', nightly: { at } });
const onlyOn =
  (...late: string[]) =>
  (_: Entity, date: string) =>
    late.includes(date) ? null : SOON;

describe('the alarm NightIncomplete', () => {
  test.each<[string, Nights['settings'], string]>([
    ['at 01:00 UTC', {}, MONDAY],
    ['in Jerusalem when clocks are set back', inJerusalem('01:30'), '2026-10-24'],
    ['on both sides of midnight', inJerusalem('23:50'), MONDAY],
    ['at 01:00 UTC and may last a day', { entities: { leads: { polling: { deadlineSeconds: 86_400 } } } }, MONDAY],
  ])('sends one mail for each incomplete night and none for complete ones that begin %s', async (_, settings, from) => {
    const lacking = await nightsFrom({ settings, from, after: (entity) => (entity === 'leads' ? null : SOON) });
    const whole = await nightsFrom({ settings, from });

    for (const range of RANGES) {
      expect(lacking.datesMailed(range), `range ${range}`).toEqual(lacking.dates);
      expect(whole.mails(range)).toEqual([]);
    }
  });

  test('sends a mail within an hour after the deadline of a night that is late', async () => {
    const late = await nightsFrom({ after: (_, date) => (date === '2026-11-17' ? 9 * HOUR_MS : SOON) });

    for (const range of RANGES) expect(late.mails(range).map(timeOf)).toEqual(['2026-11-17T07:30']);
  });

  test('sends one mail for two incomplete nights with deadlines three hours apart', async () => {
    // The deadline of Mondays is at ten on Tuesday morning, three hours after seven.
    const customers = { schedule: 'cron(0 22 ? * MON *)', polling: { deadlineSeconds: 43_200 } };
    const both = await nightsFrom({ settings: { entities: { customers } }, after: onlyOn(MONDAY, '2026-11-17') });

    for (const range of RANGES) expect(both.mails(range)).toHaveLength(1);
  });

  test('is on for a new deployment until the first count, and then mails the next incomplete night', async () => {
    const made = await nightsFrom({ madeAt: '2026-11-18T03:00:00Z', after: () => null });

    for (const range of RANGES) {
      // No address is confirmed yet when the alarm is made: no mail arrives.
      expect(timeOf(made.mails(range)[0])).toBe('2026-11-18T03:00');
      expect(made.datesMailed(range).slice(1)).toEqual(['2026-11-19']);
    }
  });
});

describe('a check that fails or is late', () => {
  const between = (from: string, to: string, trouble: ReturnType<Trouble>): Trouble => {
    return (due) => (due >= new Date(`${from}Z`) && due < new Date(`${to}Z`) ? trouble : 0);
  };

  test.each<[string, Trouble]>([
    ['is 45 minutes late', between('2026-11-18T12:00', '2026-11-18T13:00', 45)],
    ['fails', between('2026-11-18T12:00', '2026-11-18T13:00', 'fails')],
    ['cannot read the bucket after a deadline', between('2026-11-18T07:40', '2026-11-18T08:40', 'cannot read')],
  ])('once (it %s) sends no mail if CloudWatch evaluates two or more periods', async (_, checks) => {
    const looked = await nightsFrom({ checks });

    for (const range of RANGES) expect(looked.mails(range)).toEqual([]);
    // With one period it would send a mail.
    expect(looked.mails(1)).toHaveLength(1);
  });

  test('for days sends one mail, after as many hours as CloudWatch evaluates', async () => {
    const looked = await nightsFrom({ checks: between('2026-11-18T12:00', '2026-11-30T00:00', 'fails') });

    const last = looked.counts.at(-1)?.at ?? 0;
    for (const range of RANGES) expect(looked.mails(range)).toEqual([last + range * HOUR_MS]);
  });

  test.each([
    ['five', between('2026-11-18T07:00', '2026-11-18T12:40', 'fails')],
    ['all', between('2026-11-18T07:20', '2026-11-18T13:20', 'fails')],
  ])('in %s of the six hours after a deadline does not hide an incomplete night', async (_, checks) => {
    const looked = await nightsFrom({ checks, after: onlyOn('2026-11-18') });

    for (const range of RANGES) expect(looked.mails(range), `range ${range}`).toHaveLength(1);
  });
});
