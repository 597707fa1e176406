import { describe, expect, test } from 'vitest';
import type { RuleState, Rules } from '../../../cli/deployment-state.ts';
import { adviceFor, nightsOf, startText } from '../../../cli/night/night.ts';
import type { Attempt, Facts } from '../../../cli/night/night-facts.ts';
import { lastNightOf } from '../../../cli/night/night-starts.ts';
import type { Outcome } from '../../../cli/runs/run.ts';
import { deployedOf } from '../../../core/config/deployed.ts';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import type { Night } from '../../../core/night/night-record.ts';
import { deployment } from '../../support/builders.ts';
import { manifestOf } from '../../support/manifests.ts';
import { recordedNight } from '../../support/recorded-night.ts';
import { aRun } from '../support/a-run.ts';

const NIGHT = '2026-11-20';
const BEFORE = '2026-11-19';
/** Leads start at 01:00 UTC; a run gives up after six hours. */
const POLLING = { deadlineSeconds: 21_600, largestWaitSeconds: 300 };
const configuredWith = (leads: object) => deployment({ polling: POLLING, entities: { leads } });
const rules = (leads: RuleState) => ({
  rules: { ...Object.fromEntries(ENTITIES.map((entity) => [entity, 'on'])), leads } as Rules,
});

const file = (date: string, startedAt = `${date}T01:00:05.000Z`) =>
  manifestOf({ date, startedAt, execution: `run-${date}` });
const fileOf = (date: string) => ({ run: `run-${date}`, manifestKey: date });
const attempt = (outcome: Outcome, date = NIGHT, startedAt = `${date}T01:00:05.000Z`): Attempt => ({
  ...{ ...aRun({ run: 'x', outcome, startedAt }), entity: 'leads', date },
});

/** Leads at seven in the morning: by default, the night before is published and last night has no record. */
function leadsOf({ at = `${NIGHT}T07:00:00Z`, ...changes }: Partial<Facts> & { at?: string } = {}, date?: string) {
  const known: Facts = {
    deployment: 'prod',
    configured: configuredWith({}),
    now: new Date(at),
    nights: 3,
    deployedAt: new Date('2026-11-01T12:00:00Z'),
    published: [file(BEFORE)],
    attempts: [],
    endedWell: {},
    recorded: [],
    newest: {},
    ...rules('on'),
    grant: null,
    ...changes,
  };
  const found = nightsOf(known, date).rows.find(({ entity }) => entity === 'leads');
  return found ?? expect.unreachable();
}

/** The judged date, its result, and whether it is missing. */
function judged(changes: Parameters<typeof leadsOf>[0], asked?: string) {
  const { date, outcome, missing } = leadsOf(changes, asked).last;
  return `${date} ${outcome}${missing ? ', missing' : ''}`;
}

const wanted = (entity: object) => ({ configured: configuredWith(entity) });
const at = (time: string) => ({ at: `${NIGHT}T${time}Z` });
const PUBLISHED = { published: [file(NIGHT)] };
const FAILED = { attempts: [attempt('failed')] };
const RUNNING = { attempts: [attempt('running')] };
const PAUSED = rules('paused');
const WITHOUT_RULE = rules('withoutRule');

test.each<[string, Parameters<typeof leadsOf>[0], string]>([
  ['published', { published: [file(BEFORE), file(NIGHT)] }, 'published'],
  ['published, even if a later run of the date failed', { ...PUBLISHED, ...FAILED }, 'published'],
  ['failed', FAILED, 'failed, missing'],
  ['quarantined', { attempts: [attempt('quarantined')] }, 'quarantined, missing'],
  ['under way until its deadline', RUNNING, 'running'],
  ['late if a run is under way after its deadline', { ...at('07:00:01'), ...RUNNING }, 'late, missing'],
  [
    'started again after it failed',
    { attempts: [...FAILED.attempts, attempt('running', NIGHT, `${NIGHT}T06:00:00Z`)] },
    'running',
  ],
  ['not started after EventBridge stops delivering the start', {}, 'notStarted, missing'],
  ['due while EventBridge may still deliver the start', at('03:14:59'), 'due'],
  [
    'late if its deadline is shorter than the delivery time',
    { ...at('02:00:00'), ...wanted({ polling: { deadlineSeconds: 600 } }) },
    'late, missing',
  ],
  ['paused by hand', PAUSED, 'paused, missing'],
  ['paused after its run', { ...PAUSED, ...PUBLISHED }, 'published'],
  ['paused after its run failed', { ...PAUSED, ...FAILED }, 'failed, missing'],
  [
    'paused for weeks, with only the newest file known',
    {
      ...PAUSED,
      published: [],
      newest: { leads: { date: '2026-11-02', startedAt: '2026-11-02T01:00:00Z', execution: 'x' } },
    },
    'paused, missing',
  ],
  ['without a rule', WITHOUT_RULE, 'withoutRule, missing'],
  ['paused, right after its start was due', { ...at('01:01:00'), ...PAUSED }, 'paused, missing'],
  ['switched off by the configuration', rules('off'), 'off'],
  ['not started if the rule was changed by hand', rules('changed'), 'notStarted, missing'],
])('last night is %s', (_, changes, expected) => {
  expect(judged(changes)).toBe(`${NIGHT} ${expected}`);
});

describe('on the first day after the deployment', () => {
  const young = { published: [], deployedAt: new Date(`${NIGHT}T12:00:00Z`) };

  test.each([
    ['no run is due before the first night', '2026-11-21T00:59:00Z', '2026-11-20 none'],
    ['the first start is due while it may still be delivered', '2026-11-21T01:00:00Z', '2026-11-21 due'],
    [
      'a first night that did not start is missing, even without any known run',
      '2026-11-21T03:15:00Z',
      '2026-11-21 notStarted, missing',
    ],
  ])('%s', (_, at, expected) => {
    expect(judged({ ...young, at })).toBe(expected);
  });

  test('a start before the deployment is not expected', () => {
    const late = { ...young, deployedAt: new Date(`${NIGHT}T01:00:01Z`), ...at('07:00:01') };
    expect(judged(late)).toBe('2026-11-20 none');
    expect(judged({ ...late, ...RUNNING })).toBe('2026-11-20 running');
  });
});

describe('at a clock change', () => {
  const local = {
    deployedAt: new Date('2026-01-01T12:00:00Z'),
    configured: deployment({
      ...{ timeZone: 'Asia/Jerusalem', polling: POLLING },
      nightly: { at: '02:30', spreadMinutes: 0 },
    }),
  };

  test.each([
    // 02:30 is skipped on 27 March: the start is at 03:30, 00:30 UTC.
    ['a start at a skipped time is not due before an hour later', '2026-03-27T00:29:00Z', '2026-03-26', 'published'],
    ['a start at a skipped time is due an hour later', '2026-03-27T00:30:00Z', '2026-03-27', 'due'],
    ['a night that is an hour longer has one start', '2026-10-25T09:00:00Z', '2026-10-25', 'notStarted, missing'],
  ])('%s', (_, at, date, expected) => {
    const before = new Date(Date.parse(at) - 86_400_000).toISOString().slice(0, 10);
    expect(judged({ ...local, at, published: [file(before, `${before}T00:00:00.000Z`)] })).toBe(`${date} ${expected}`);
  });
});

describe('with several starts a day', () => {
  const twice = wanted({ schedule: 'cron(0 1,13 * * ? *)' });

  const afternoon = at('14:00:00');
  const second = `${NIGHT}T13:00:05.000Z`;

  test.each<[string, Parameters<typeof leadsOf>[0], string]>([
    ['the first is missing even if another follows', at('07:00:00'), 'notStarted, missing'],
    ['the second start can still publish the date', { ...afternoon, published: [file(NIGHT, second)] }, 'published'],
    [
      'the first is enough, because a date has one file',
      { ...afternoon, ...PUBLISHED, attempts: [attempt('failed', NIGHT, second)] },
      'published',
    ],
    ['the date counts until the next start', { at: '2026-11-21T00:59:00Z', ...PUBLISHED }, 'published'],
  ])('%s', (_, changes, expected) => {
    expect(judged({ ...twice, ...changes })).toBe(`${NIGHT} ${expected}`);
  });
});

describe('with a schedule that is not daily', () => {
  const weekly = wanted({ schedule: 'cron(0 1 ? * MON *)' });
  const monday = '2026-11-16';

  test('the newest date counts until the next start', () => {
    const before = { ...weekly, published: [file('2026-11-09')] };
    expect(judged({ ...before, attempts: [attempt('failed', monday)] })).toBe(`${monday} failed, missing`);
    expect(judged({ ...weekly, published: [file(monday)] })).toBe(`${monday} published`);
    expect(judged(before)).toBe(`${monday} notStarted, missing`);
  });

  test('a monthly date counts until the next start', () => {
    const published = [file('2026-10-31')];
    expect(judged({ ...wanted({ schedule: 'cron(0 1 L * ? *)' }), published })).toBe('2026-10-31 published');
  });
});

describe('with rate(…), whose first moment is unknown', () => {
  test.each([
    ['rate(7 days)', '2026-11-14T09:00:00.000Z', '2026-11-14 published'],
    ['rate(7 days)', '2026-11-13T04:00:00.000Z', '2026-11-20 notStarted, missing'],
    ['rate(1 day)', '2026-11-19T06:30:00.000Z', '2026-11-20 due'],
    ['rate(30 minutes)', '2026-11-20T06:45:00.000Z', '2026-11-20 published'],
    ['rate(30 minutes)', '2026-11-19T22:00:00.000Z', '2026-11-20 notStarted, missing'],
  ])('%s with its newest run of %s: %s', (schedule, startedAt, expected) => {
    const published = [file(startedAt.slice(0, 10), startedAt)];
    const { next } = leadsOf({ ...wanted({ schedule }), published });
    expect(judged({ ...wanted({ schedule }), published })).toBe(expected);
    expect(next).toBeNull();
  });

  test('no run is due within the first interval, and then it is', () => {
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
])('a past date is judged by its runs and files: %s', (date, expected) => {
  const changes = { published: [file('2026-11-18')], attempts: [attempt('failed', '2026-11-17')], newest: {} };
  const first = { leads: { date: '2026-11-18', startedAt: '2026-11-17T00:30:00Z', execution: 'x' } };
  expect(judged({ ...changes, newest: first, nights: 5 }, date)).toBe(`${date} ${expected}`);
});

test('the next start is that of a rule that is on', () => {
  expect(leadsOf().next).toEqual({ at: new Date('2026-11-21T01:00:00Z'), date: '2026-11-21' });
  expect(leadsOf({ ...rules('paused') }).next).toBeNull();
});

describe('with a record of the night', () => {
  const record = (marked: Partial<Night['entities'][string]>, lacking: Entity[] = ['leads']) => {
    const night: Night = JSON.parse(recordedNight(NIGHT, lacking)[1]);
    Object.assign(night.entities.leads ?? {}, marked);
    return { recorded: [night] };
  };
  const stored = { ...fileOf(NIGHT), key: 'k', rows: 1, bytes: 1, crc32: '' };
  const WITHOUT_TABLE = { ...record({ tableVersion: 1, file: stored }, []), published: [file(NIGHT)] };

  test.each<[string, Parameters<typeof leadsOf>[0], string]>([
    ['an error in it counts if the execution is unknown', record({ error: 'ExportFailed' }), 'failed, missing'],
    ['FileQuarantined in it means quarantined', record({ error: 'FileQuarantined' }), 'quarantined, missing'],
    [
      'a run under way counts more than an earlier error',
      { ...record({ error: 'ExportFailed' }), ...RUNNING },
      'running',
    ],
    ['an entity without a run is not started', record({}), 'notStarted, missing'],
    ['a published file whose table is missing counts as withoutTable', WITHOUT_TABLE, 'withoutTable, missing'],
  ])('%s', (_, changes, expected) => {
    expect(judged(changes)).toBe(`${NIGHT} ${expected}`);
  });

  test('the advice about a missing table is to write it again', () => {
    const { last } = leadsOf(WITHOUT_TABLE);
    const known = { configured: configuredWith({}), now: new Date(`${NIGHT}T07:00:00Z`) };

    expect(adviceFor(last, [last], known, { deployment: 'prod' })).toContain(' table run-2026-11-20 ');
  });

  test('an entity that was added after that night is not missing', () => {
    const [earlier, later]: Night[] = [BEFORE, NIGHT].map((date) => JSON.parse(recordedNight(date)[1]));
    if (earlier) delete earlier.entities.leads;

    expect(judged({ recorded: [earlier, later].flatMap((night) => night ?? []), published: [] }, BEFORE)).toBe(
      `${BEFORE} none`,
    );
  });
});

test('while the night is open, the date before it is reported if it is missing', () => {
  const at = `${NIGHT}T01:30:00Z`;
  const failed = [attempt('failed', BEFORE)];

  expect(judged({ at, published: [file('2026-11-18')], attempts: failed })).toBe(`${BEFORE} failed, missing`);
  expect(judged({ at, published: [file(NIGHT)], attempts: failed })).toBe(`${NIGHT} published`);
});

test.each<[string, Attempt[], string | undefined]>([
  ['failed after the newest file', [attempt('failed', BEFORE, `${NIGHT}T06:00:00Z`)], 'x'],
  ['failed before the newest file', [attempt('failed', BEFORE, `${BEFORE}T06:00:00Z`)], undefined],
  ['is under way', [attempt('running', NIGHT, `${NIGHT}T06:00:00Z`)], undefined],
  ['was quarantined and released', [attempt('released', NIGHT, `${NIGHT}T06:00:00Z`)], undefined],
])('failedSince is set only if the newest run failed after the file: %s', (_, attempts, expected) => {
  expect(leadsOf({ published: [file(NIGHT)], attempts }).failedSince?.run).toBe(expected);
});

test.each([
  ['is set until its table is written', null, 'run-2026-11-20'],
  ['is not set after its table is written', { key: 'k', etag: 'e' }, undefined],
])('failedSince of a newest run without a table %s', (_, table, expected) => {
  const night: Night = JSON.parse(recordedNight(NIGHT)[1]);
  // The table version went with a later configuration: the night waits for no table.
  const tableVersion = table ? 1 : null;
  Object.assign(night.entities.leads ?? {}, { file: { ...fileOf(NIGHT), key: 'k', rows: 1, bytes: 1, crc32: '' } });
  Object.assign(night.entities.leads ?? {}, { tableVersion, table });
  const attempts = [{ ...attempt('withoutTable'), run: `run-${NIGHT}` }];

  expect(leadsOf({ published: [file(NIGHT)], attempts, recorded: [night] }).failedSince?.run).toBe(expected);
});

test('the last night is the previous one until the first start', () => {
  const settings = deployment({ timeZone: 'Asia/Jerusalem', nightly: { at: '02:00' } });
  expect(lastNightOf(settings, new Date('2026-11-19T23:59:00Z'))?.date).toBe('2026-11-19');
  expect(lastNightOf(settings, new Date('2026-11-20T00:00:00Z'))?.date).toBe('2026-11-20');
});

const filters = [{ field: 'updatedAt', operator: 'gte', value: { $date: 'day-1d' } }];
const dated = deployment({ entities: { leads: { filters }, contacts: { filters } } });

test.each<[Entity[], string, string]>([
  [['leads'], '2026-11-19', 'start leads --date 2026-11-19'],
  [['leads', 'contacts'], '2026-11-19', 'start leads contacts --date 2026-11-19'],
  [['meetings'], '2026-11-19', 'start meetings'],
  [['leads', 'meetings'], '2026-11-19', 'start leads meetings'],
  [['meetings'], '2026-11-20', 'start meetings --date 2026-11-20'],
])('the start command for %j and %s, on 2026-11-20, is %s', (entities, date, command) => {
  const now = new Date('2026-11-20T12:00:00Z');

  expect(startText(entities, date, dated, now)).toBe(command);
  // A template has digests instead of filters.
  expect(startText(entities, date, deployedOf(dated), now)).toBe(command);
});
