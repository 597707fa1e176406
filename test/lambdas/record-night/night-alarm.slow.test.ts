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
  /** The first date and the number of dates. */
  from?: string;
  days?: number;
  /** The time between start and publication; `null`: never published. */
  after?: (entity: Entity, date: string) => number | null;
  checks?: Trouble;
  /** The time of the deployment; by default long before. */
  madeAt?: string;
}

/** Three entities are enough and faster to check. */
const OFF = Object.fromEntries(ENTITIES.slice(3).map((entity) => [entity, { enabled: false }]));
const MONDAY = '2026-11-16';
const SOON = 10 * MINUTE_MS;

/** The counts and logs of the checks over some nights, until long after the last deadline. */
async function nightsFrom({
  settings = {},
  from = MONDAY,
  days = 4,
  after = () => SOON,
  checks = () => 0,
  madeAt,
}: Nights) {
  const configured = deployment({ polling: POLLING, ...settings, entities: { ...OFF, ...settings.entities } });
  // The functions have the offsets: computing them takes longer than the rest of the test.
  configured.zoneOffsets = offsetsNow(configured.timeZone);
  let down = false;
  const before = () => {
    if (down) throw new RunError('StorageUnavailable', 'Down.');
  };
  const bucket = fakeBucket({ before });
  const dates = Array.from({ length: days }, (_, day) => dateAfter(from, day));
  if (madeAt === undefined) bucket.put(SINCE_KEY, JSON.stringify({ since: '2026-01-01T00:00:00.000Z' }));
  // The nights before and after are complete.
  const around = [dateAfter(from, -2), dateAfter(from, -1), ...dates, dateAfter(from, days)];
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
  const end = Date.parse(`${dateAfter(from, days)}T23:59:00Z`);
  for (let due = Math.floor(begin / HOUR_MS) * HOUR_MS + 30 * MINUTE_MS; due <= end; due += HOUR_MS) {
    if (due < begin) continue;
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
    down = false;
    for (const { values } of deps.log.measured.slice(known)) counts.push({ at, value: values.NightIncomplete ?? -1 });
  }
  const told = deps.log.lines.flatMap(({ message, fields }) =>
    message === 'night not complete by its deadline' ? [`${fields.date}: ${fields.missing}`] : [],
  );
  const deadlines = dates.map((date) => timesOfNight(configured, date)?.deadline);
  return { counts, begin, end, told: new Set(told), dates, deadlines };
}

type Looked = Awaited<ReturnType<typeof nightsFrom>>;

/** The times of mails, in UTC. Each check before the first night had a number, except for a new deployment. */
function mailed({ counts, begin, end }: Looked, range: number, isNew = false): string[] {
  const from = isNew ? begin : begin + range * HOUR_MS;
  return mailsOf(alarmOfNight, counts, { from, to: end, range }).map((at) => new Date(at).toISOString().slice(0, 16));
}

/** The nights with a deadline within the two hours before each mail. */
function nightsOf({ dates, deadlines }: Looked, mails: string[]): (string | undefined)[] {
  return mails.map((mail) => {
    const at = Date.parse(`${mail}Z`);
    return dates.findLast((_, index) => {
      const deadline = deadlines[index]?.getTime() ?? Number.NaN;
      return at >= deadline && at - deadline <= 2 * HOUR_MS;
    });
  });
}

const inJerusalem = (at: string) => ({ timeZone: 'Asia/Jerusalem', nightly: { at } });
const never = () => null;
const onlyOn =
  (...late: string[]) =>
  (_: Entity, date: string) =>
    late.includes(date) ? null : SOON;

describe('the alarm NightIncomplete', () => {
  test.each<[string, Nights['settings'], string, number]>([
    ['at 01:00 UTC', {}, MONDAY, 3],
    ['in Jerusalem when clocks are set forward', inJerusalem('01:30'), '2026-03-26', 3],
    ['in Jerusalem when clocks are set back', inJerusalem('01:30'), '2026-10-24', 3],
    ['on both sides of midnight', inJerusalem('23:50'), MONDAY, 3],
    ['in the evening of New York', { timeZone: 'America/New_York', nightly: { at: '20:00' } }, '2026-10-31', 3],
    ['at 01:00 UTC and may last a day', { entities: { leads: { polling: { deadlineSeconds: 86_400 } } } }, MONDAY, 3],
  ])(
    'sends one mail for every incomplete night and none for complete ones that begin %s',
    async (_, settings, from, days) => {
      const lacking = await nightsFrom({ settings, from, days, after: (entity) => (entity === 'leads' ? null : SOON) });
      const whole = await nightsFrom({ settings, from, days });

      for (const range of RANGES) {
        expect(nightsOf(lacking, mailed(lacking, range)), `range ${range}`).toEqual(lacking.dates);
        expect(mailed(whole, range)).toEqual([]);
      }
      expect([...lacking.told]).toEqual(lacking.dates.map((date) => `${date}: leads`));
    },
  );

  test('sends mails for nights without any file, and the log lists all their entities', async () => {
    const looked = await nightsFrom({ after: never, days: 7 });

    for (const range of RANGES) expect(nightsOf(looked, mailed(looked, range))).toEqual(looked.dates);
    expect([...looked.told][0]).toBe(`${MONDAY}: ${ENTITIES.slice(0, 3)}`);
  });

  test('sends mails for nights that are incomplete or late, within an hour after the deadline', async () => {
    const late = (_: Entity, date: string) => ({ '2026-11-17': null, '2026-11-19': 9 * HOUR_MS })[date] ?? SOON;
    const looked = await nightsFrom({ after: (...args) => (args[1] === '2026-11-17' ? null : late(...args)) });

    for (const range of RANGES) expect(mailed(looked, range)).toEqual(['2026-11-17T07:30', '2026-11-19T07:30']);
  });

  test('expects an entity on its scheduled dates only, and never one with a rate or two starts a day', async () => {
    const entities = {
      leads: { schedule: 'cron(0 1 ? * WED *)' },
      contacts: { schedule: 'rate(1 day)' },
      meetings: { schedule: 'cron(0 1,13 * * ? *)' },
    };
    const looked = await nightsFrom({ settings: { entities }, after: (entity) => (entity === 'leads' ? null : SOON) });

    for (const range of RANGES) expect(nightsOf(looked, mailed(looked, range))).toEqual(['2026-11-18']);
  });

  test('sends one mail for two incomplete nights with deadlines three hours apart', async () => {
    // The deadline of Mondays is at ten on Tuesday morning, three hours after seven.
    const customers = { schedule: 'cron(0 22 ? * MON *)', polling: { deadlineSeconds: 43_200 } };
    const looked = await nightsFrom({ settings: { entities: { customers } }, after: onlyOn(MONDAY, '2026-11-17') });

    for (const range of RANGES) expect(mailed(looked, range), 'one mail for both').toHaveLength(1);
    expect([...looked.told].map((line) => line.slice(0, 10))).toEqual(['2026-11-17', MONDAY]);
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

    for (const range of RANGES) expect(mailed(looked, range)).toEqual([]);
    // With one period it would send a mail.
    expect(mailed(looked, 1)).toHaveLength(1);
  });

  test.each<ReturnType<Trouble>>(['fails', 'cannot read'])(
    'for days (it %s) sends one mail, after as many hours as CloudWatch evaluates',
    async (trouble) => {
      const checks = between('2026-11-18T12:00', '2026-11-30T00:00', trouble);
      const looked = await nightsFrom({ checks });

      for (const range of RANGES) {
        const [mail, ...others] = mailed(looked, range);
        // The last count was at 11:30, or on the next morning if only a due night is unreadable.
        const last = looked.counts.at(-1)?.at ?? 0;
        expect(others).toEqual([]);
        expect(Date.parse(`${mail}Z`) - last).toBe(range * HOUR_MS);
      }
    },
  );

  test('in five of the six hours after a deadline does not hide an incomplete night', async () => {
    const checks = between('2026-11-18T07:00', '2026-11-18T12:40', 'fails');
    const looked = await nightsFrom({ checks, after: onlyOn('2026-11-18') });

    for (const range of RANGES) expect(mailed(looked, range), `range ${range}`).toHaveLength(1);
  });

  test('in all six hours after a deadline sends a mail', async () => {
    const checks = between('2026-11-18T07:20', '2026-11-18T13:20', 'fails');
    const looked = await nightsFrom({ checks, after: onlyOn('2026-11-18') });

    for (const range of RANGES) expect(mailed(looked, range), `range ${range}`).toHaveLength(1);
  });
});

describe('a new deployment', () => {
  test('gets no mail for a night that began before its first check, but one for the next night', async () => {
    const looked = await nightsFrom({ madeAt: '2026-11-18T03:00:00Z', after: never });

    for (const range of RANGES) {
      // The alarm is on until the first number, half an hour later. No address is confirmed yet: no mail arrives.
      const [made, ...others] = mailed(looked, range, true);
      expect(made).toBe('2026-11-18T03:00');
      expect(nightsOf(looked, others)).toEqual(['2026-11-19']);
    }
    expect([...looked.told][0]).toMatch(/^2026-11-19: /);
  });

  test('records once since when it checks', async () => {
    const bucket = fakeBucket();
    const deps = { ...testDeps(), bucket };

    for (const hour of ['12', '13']) await checkNights(new Date(`2026-11-18T${hour}:30:00Z`), deps);

    expect(bucket.text(SINCE_KEY)).toBe('{"since":"2026-11-18T12:30:00.000Z"}');
    expect(bucket.calls.filter((call) => call === `putOnce ${SINCE_KEY}`)).toHaveLength(1);
  });

  test('counts nothing while the record of its start cannot be read', async () => {
    const bucket = fakeBucket({ objects: { [SINCE_KEY]: 'yesterday' } });
    const deps = { ...testDeps(), bucket };

    await checkNights(new Date('2026-11-18T12:30:00Z'), deps);

    expect(deps.log.measured).toEqual([]);
    expect(deps.log.lines).toMatchObject([{ fields: { error: 'StorageConflict' } }]);
  });
});
