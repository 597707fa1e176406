import { expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import {
  isOfNights,
  isWatchedAlone,
  spansMidnight,
  startsOfNight,
  timesOfNight,
} from '../../../core/night/night-schedule.ts';
import { deployment } from '../../support/builders.ts';

const DATE = '2026-11-20';
const names = (settings: Parameters<typeof deployment>[0], date = DATE) => [
  ...startsOfNight(deployment(settings), date).keys(),
];
const without = (entity: string) => ENTITIES.filter((each) => each !== entity);

test('a night contains every enabled entity with one start on its date', () => {
  expect(names({})).toEqual(ENTITIES);
  expect(names({ entities: { leads: { enabled: false } } })).toEqual(without('leads'));
  expect(names({ timeZone: 'Asia/Jerusalem', nightly: { at: '03:00' } })).toEqual(ENTITIES);
});

test.each(['rate(1 day)', 'cron(0 1,13 * * ? *)', 'cron(0 1 ? * SAT *)'])(
  'an entity with %s is not in the night of a Friday',
  (schedule) => {
    expect(names({ entities: { leads: { schedule } } })).toEqual(without('leads'));
  },
);

const FROM = new Date('2026-11-20T12:00:00Z');

test.each<[string, boolean]>([
  ['cron(0 1 * * ? *)', true],
  ['cron(0 1 ? * SAT *)', true],
  ['cron(0 1 1 1 ? *)', true],
  ['cron(0 1 29 2 ? *)', true],
  ['cron(0 1 20 11 ? 2026,2027)', true],
  ['cron(0 1,13 21 11 ? 2026)', false],
  ['cron(0 1,13 * * ? *)', false],
  ['cron(0/10 * ? * MON *)', false],
  ['rate(1 day)', false],
])('nights wait for an entity with the schedule %s: %o', (schedule, waits) => {
  const settings = { timeZone: 'Asia/Jerusalem', entities: { leads: { schedule } } };

  expect(isOfNights(deployment(settings), 'leads', FROM)).toBe(waits);
  expect(isWatchedAlone(deployment(settings), 'leads', FROM)).toBe(!waits);
});

test('a UTC schedule with two starts on the date when clocks are set back still belongs to nights', () => {
  const settings = { timeZone: 'Asia/Jerusalem', entities: { leads: { schedule: 'cron(30 21 * * ? *)' } } };

  for (const from of ['2026-10-22', '2026-10-23', '2026-10-24', '2026-10-25'])
    expect(isOfNights(deployment(settings), 'leads', new Date(from))).toBe(true);
});

test('an entity with freshnessHours is watched alone, unless it is disabled', () => {
  const watched = (leads: object) => isWatchedAlone(deployment({ entities: { leads } }), 'leads', FROM);

  expect([watched({}), watched({ freshnessHours: 30 })]).toEqual([false, true]);
  expect([watched({ enabled: false, freshnessHours: 30 }), watched({ enabled: false })]).toEqual([false, false]);
});

test('a night begins with its first start, and ends with the latest deadline', () => {
  const entities = { customers: { at: '04:00', polling: { deadlineSeconds: 3600 } }, leads: { at: '02:00' } };
  const polling = { deadlineSeconds: 7200, largestWaitSeconds: 300 };
  const settings = { timeZone: 'Asia/Jerusalem', polling, nightly: { at: '02:30' }, entities };

  expect(timesOfNight(deployment(settings), DATE)).toEqual({
    begins: new Date('2026-11-20T00:00:00Z'),
    deadline: new Date('2026-11-20T03:12:00Z'),
  });
  const off = Object.fromEntries(ENTITIES.map((entity) => [entity, { enabled: false }]));
  expect(timesOfNight(deployment({ entities: off }), DATE)).toBeUndefined();
});

test('the date of a start is the date in the configured time zone', () => {
  const settings = { timeZone: 'America/New_York', entities: { leads: { schedule: 'cron(0 3 20 11 ? *)' } } };

  expect(names(settings, '2026-11-19')).toContain('leads');
  expect(names(settings)).not.toContain('leads');
});

test.each<[string, Parameters<typeof deployment>[0], boolean]>([
  ['begins at 23:50', { timeZone: 'Asia/Jerusalem', nightly: { at: '23:50' } }, true],
  ['begins at 03:00', { timeZone: 'Asia/Jerusalem', nightly: { at: '03:00' } }, false],
  ['begins at 01:00 UTC, by default', {}, false],
  ['ends after midnight in its zone', { timeZone: 'America/Sao_Paulo', nightly: { spreadMinutes: 25 } }, true],
  ['has 1 entity', { entities: Object.fromEntries(without('leads').map((each) => [each, { enabled: false }])) }, false],
  ['has two parts, none of them at midnight', { entities: { leads: { at: '13:00' } } }, false],
])('a night that %s spans midnight (%o): %s', (_, settings, spans) => {
  expect(spansMidnight(deployment(settings), new Date('2026-11-20T12:00:00Z'))).toBe(spans);
});

test('spansMidnight finds a weekly night that spans midnight on any day of the week', () => {
  const leads = { schedule: 'cron(50 21 ? * SUN *)' };
  const settings = { timeZone: 'Asia/Jerusalem', nightly: { at: '00:05' }, entities: { leads } };
  const days = [20, 21, 22, 23, 24, 25, 26].map((day) => new Date(`2026-11-${day}T12:00:00Z`));

  expect(days.map((day) => spansMidnight(deployment(settings), day))).toEqual(days.map(() => true));
});
