import { describe, expect, test } from 'vitest';
import type { Attempt, Facts } from '../../../cli/night/facts.ts';
import { judgesOf } from '../../../cli/night/judge.ts';
import type { Outcome } from '../../../cli/runs/run/outcomes.ts';
import { nightlyPlanOf } from '../../../cli/schedule/nightly-plan.ts';
import { deployment } from '../../support/builders.ts';
import { manifestOf } from '../../support/manifests.ts';

const NIGHT = '2026-11-20';
const BEFORE = '2026-11-19';
/** Leads start at 01:00 UTC; a run gives up after six hours. */
const POLLING = { deadlineSeconds: 21_600, largestWaitSeconds: 300 };
const plan = (leads: object = {}, timeZone = 'UTC') =>
  nightlyPlanOf(deployment({ timeZone, polling: POLLING, entities: { leads } }));

const file = (date: string, startedAt = `${date}T01:00:05.000Z`) => ({
  manifestKey: date,
  manifest: manifestOf({ date, startedAt, execution: `run-${date}` }),
});
const attempt = (outcome: Outcome, date = NIGHT, startedAt = `${date}T01:00:05.000Z`): Attempt => ({
  ...{ run: 'x', what: 'export', byVerify: false, kind: null, unjudged: false, status: null, error: null, cause: null },
  ...{ entity: 'leads', date, outcome, startedAt },
});

/** By default, at seven in the morning the night before is published, and of last night nothing is known. */
function leadsOf({ at = `${NIGHT}T07:00:00Z`, ...changes }: Partial<Facts> & { at?: string } = {}) {
  const known: Facts = {
    deployment: 'prod',
    plan: plan(),
    now: new Date(at),
    nights: 3,
    deployedAt: new Date('2026-11-01T12:00:00Z'),
    published: [file(BEFORE)],
    attempts: [],
    attemptsKnown: true,
    withoutTable: [],
    marked: [],
    newest: {},
    ...{ paused: [], withoutRule: [], changed: [] },
    ...changes,
  };
  return judgesOf(known)('leads');
}

/** The date that is looked at, what became of it, and whether it is missing. */
function judged(changes: Parameters<typeof leadsOf>[0], date?: string) {
  const { last, cellOf } = leadsOf(changes);
  const { outcome, missing } = cellOf(date ?? last);
  return `${date ?? last} ${outcome}${missing ? ', missing' : ''}`;
}

const wanted = (entity: object = {}) => ({ plan: plan(entity) });
const off = { plan: plan({ enabled: false }) };

test.each<[string, Parameters<typeof leadsOf>[0], string]>([
  ['published', { published: [file(BEFORE), file(NIGHT)] }, 'published'],
  [
    'published, though a later run of the date failed',
    { published: [file(NIGHT)], attempts: [attempt('failed')] },
    'published',
  ],
  ['failed', { attempts: [attempt('failed')] }, 'failed, missing'],
  ['quarantined', { attempts: [attempt('quarantined')] }, 'quarantined, missing'],
  ['published, and gone', { attempts: [attempt('gone')] }, 'gone, missing'],
  ['under way, until its deadline', { attempts: [attempt('running')] }, 'running'],
  [
    'under way, past its start and its deadline',
    { at: `${NIGHT}T07:00:01Z`, attempts: [attempt('running')] },
    'late, missing',
  ],
  [
    'started again after it failed',
    { attempts: [attempt('failed'), attempt('running', NIGHT, `${NIGHT}T06:00:00Z`)] },
    'running',
  ],
  ['not started: EventBridge does not deliver it any more', {}, 'notStarted, missing'],
  ['still to come: EventBridge may deliver it', { at: `${NIGHT}T03:14:59Z` }, 'due'],
  [
    'late, where its deadline is shorter than that',
    { at: `${NIGHT}T02:00:00Z`, ...wanted({ polling: { deadlineSeconds: 600 } }) },
    'late, missing',
  ],
  ['paused by hand', { paused: ['leads'] }, 'paused, missing'],
  ['paused after its run', { paused: ['leads'], published: [file(NIGHT)] }, 'published'],
  ['paused after its run failed', { paused: ['leads'], attempts: [attempt('failed')] }, 'failed, missing'],
  [
    'paused for weeks: only the newest file is known',
    {
      paused: ['leads'],
      published: [],
      newest: { leads: { date: '2026-11-02', startedAt: '2026-11-02T01:00:00Z', execution: 'x' } },
    },
    'paused, missing',
  ],
  ['without a rule', { withoutRule: ['leads'] }, 'withoutRule, missing'],
  ['switched off by the configuration', { ...off, paused: ['leads'] }, 'off'],
  ['switched off by the configuration, and its rule is gone', { ...off, withoutRule: ['leads'] }, 'off'],
  ['switched on by hand against the configuration', off, 'notStarted, missing'],
  ['of a rule that was changed by hand, and did not start it', { changed: ['leads'] }, 'notStarted, missing'],
])('last night is %s', (_, changes, expected) => {
  expect(judged(changes)).toBe(`${NIGHT} ${expected}`);
});

describe('on the first day after the deployment', () => {
  const young = { published: [], deployedAt: new Date(`${NIGHT}T12:00:00Z`) };

  test.each([
    ['nothing is due before its first night', '2026-11-21T00:59:00Z', '2026-11-20 none'],
    ['its first start is still to come as long as it may be delivered', '2026-11-21T01:00:00Z', '2026-11-21 due'],
    [
      'a first night that nothing started is missing, though no run was ever known',
      '2026-11-21T03:15:00Z',
      '2026-11-21 notStarted, missing',
    ],
  ])('%s', (_, at, expected) => {
    expect(judged({ ...young, at })).toBe(expected);
  });

  test('a first night that started another entity, but not this one, is missing', () => {
    const [other] = [file(NIGHT, `${NIGHT}T01:07:05.000Z`)];
    const contacts = { ...other, manifest: { ...other.manifest, entity: 'contacts' as const } };
    const deployedAt = new Date(`${BEFORE}T12:00:00Z`);
    expect(judged({ published: [contacts], deployedAt })).toBe(`${NIGHT} notStarted, missing`);
    expect(judged({ published: [contacts], deployedAt, withoutRule: ['leads'] })).toBe(`${NIGHT} withoutRule, missing`);
  });

  test('a start before the deployment was none of it', () => {
    expect(judged({ ...young, deployedAt: new Date(`${NIGHT}T01:02:00Z`), at: `${NIGHT}T09:00:00Z` })).toBe(
      '2026-11-20 none',
    );
  });
});

describe('where clocks change', () => {
  const local = {
    plan: nightlyPlanOf(
      deployment({ timeZone: 'Asia/Jerusalem', polling: POLLING, nightly: { at: '02:30', spreadMinutes: 0 } }),
    ),
  };

  test.each([
    // 02:30 is left out on 27 March: the start is at 03:30, 00:30 UTC.
    ['a time that is left out is due an hour later', '2026-03-27T00:29:00Z', '2026-03-26', '2026-03-26 published'],
    ['and is still to come from then on', '2026-03-27T00:30:00Z', '2026-03-26', '2026-03-27 due'],
    [
      'and is lost two hours and a quarter later',
      '2026-03-27T02:45:00Z',
      '2026-03-26',
      '2026-03-27 notStarted, missing',
    ],
    [
      'of the night that is an hour longer one start counts',
      '2026-10-25T09:00:00Z',
      '2026-10-24',
      '2026-10-25 notStarted, missing',
    ],
  ])('%s', (_, at, newest, expected) => {
    expect(judged({ ...local, at, published: [file(newest, `${newest}T00:00:00.000Z`)] })).toBe(expected);
  });
});

describe('several starts a day', () => {
  const twice = wanted({ schedule: 'cron(0 1,13 * * ? *)' });

  test.each<[string, string, Parameters<typeof leadsOf>[0], string]>([
    ['the first is missing though another one comes', `${NIGHT}T07:00:00Z`, {}, 'notStarted, missing'],
    ['the second mends it', `${NIGHT}T14:00:00Z`, { published: [file(NIGHT, `${NIGHT}T13:00:05.000Z`)] }, 'published'],
    [
      'the first is enough: a date has one file',
      `${NIGHT}T14:00:00Z`,
      { published: [file(NIGHT)], attempts: [attempt('failed', NIGHT, `${NIGHT}T13:00:05Z`)] },
      'published',
    ],
    [
      'after the last of a day the date counts until the next',
      '2026-11-21T00:59:00Z',
      { published: [file(NIGHT)] },
      'published',
    ],
  ])('%s', (_, at, changes, expected) => {
    expect(judged({ ...twice, at, ...changes })).toBe(`${NIGHT} ${expected}`);
  });
});

describe('a schedule that is not every day', () => {
  const weekly = wanted({ schedule: 'cron(0 1 ? * MON *)' });
  const monday = '2026-11-16';

  test('its newest date counts until the next, however long ago', () => {
    expect(judged({ ...weekly, published: [file('2026-11-09')], attempts: [attempt('failed', monday)] })).toBe(
      `${monday} failed, missing`,
    );
    expect(judged({ ...weekly, published: [file(monday)] })).toBe(`${monday} published`);
    expect(judged({ ...weekly, published: [file('2026-11-09')] })).toBe(`${monday} notStarted, missing`);
  });

  test('once a month too', () => {
    const published = [file('2026-10-31')];
    expect(judged({ ...wanted({ schedule: 'cron(0 1 L * ? *)' }), published })).toBe('2026-10-31 published');
  });
});

describe('rate(…), which counts from a moment that is not known', () => {
  test.each([
    ['rate(7 days)', '2026-11-14T09:00:00.000Z', '2026-11-14 published'],
    ['rate(7 days)', '2026-11-13T04:00:00.000Z', '2026-11-20 notStarted, missing'],
    ['rate(1 day)', '2026-11-19T07:00:01.000Z', '2026-11-19 published'],
    ['rate(1 day)', '2026-11-19T06:30:00.000Z', '2026-11-20 due'],
    ['rate(12 hours)', '2026-11-19T13:00:00.000Z', '2026-11-20 notStarted, missing'],
    ['rate(30 minutes)', '2026-11-20T06:45:00.000Z', '2026-11-20 published'],
    ['rate(30 minutes)', '2026-11-19T22:00:00.000Z', '2026-11-20 notStarted, missing'],
  ])('%s with its newest run of %s: %s', (schedule, startedAt, expected) => {
    const published = [file(startedAt.slice(0, 10), startedAt)];
    const { next } = leadsOf({ ...wanted({ schedule }), published });
    expect(judged({ ...wanted({ schedule }), published })).toBe(expected);
    expect(next).toBeNull();
  });

  test('nothing is due within its first interval, and after that it is', () => {
    const young = { ...wanted({ schedule: 'rate(7 days)' }), published: [] };
    expect(judged({ ...young, deployedAt: new Date('2026-11-14T00:00:00Z') })).toBe(`${NIGHT} none`);
    expect(judged({ ...young, deployedAt: new Date('2026-11-12T00:00:00Z') })).toBe('2026-11-19 notStarted, missing');
  });
});

test.each([
  ['2026-11-18', 'published'],
  ['2026-11-17', 'failed, missing'],
  ['2026-11-19', 'notStarted, missing'],
  // The first known run was on the 17th.
  ['2026-11-16', 'none'],
])('a date in the past is judged by what is known of it: %s', (date, expected) => {
  const changes = { published: [file('2026-11-18')], attempts: [attempt('failed', '2026-11-17')], newest: {} };
  const first = { leads: { date: '2026-11-18', startedAt: '2026-11-17T00:30:00Z', execution: 'x' } };
  expect(judged({ ...changes, newest: first, nights: 5 }, date)).toBe(`${date} ${expected}`);
});

test('the next start is that of a rule which is on', () => {
  expect(leadsOf().next).toEqual({ at: new Date('2026-11-21T01:00:00Z'), date: '2026-11-21' });
  expect(leadsOf({ paused: ['leads'] }).next).toBeNull();
});
