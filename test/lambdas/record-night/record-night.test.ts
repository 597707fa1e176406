import { describe, expect, test } from 'vitest';
import { ENTITIES, type Entity } from '../../../core/config/entities.ts';
import { RunError } from '../../../core/errors.ts';
import { completeKey, nightKey, nightSchema } from '../../../core/night/night-record.ts';
import { SINCE_KEY } from '../../../core/night/watched-since.ts';
import { nightInput } from '../../../core/step/run-input.ts';
import type { RunState } from '../../../core/step/states.ts';
import { checkNights } from '../../../lambdas/record-night/check-nights.ts';
import { nightOfRun, recordNight } from '../../../lambdas/record-night/record-night.ts';
import { deployment, newState, run, runState } from '../../support/builders.ts';
import { testDeps } from '../../support/deps.ts';
import { failing, fakeBucket } from '../../support/fake-bucket.ts';
import { publishRun } from '../../support/recorded-night.ts';

function nights(options: Parameters<typeof fakeBucket>[0] = {}) {
  const bucket = fakeBucket(options);
  const publish = (entity: Entity, date: string) =>
    publishRun(bucket, { entity, date, execution: `${entity}-${date}` });
  const deps = { ...testDeps(), bucket };
  const night = (date: string) => {
    const text = bucket.text(nightKey(date));
    return text === undefined ? undefined : nightSchema.parse(JSON.parse(text));
  };
  return { bucket, publish, deps, night };
}

test('a run that ends writes the record of its night, with its error if its file is missing', async () => {
  const { deps, publish, night } = nights();
  publish('workflows', '2026-11-20');

  await recordNight(runState({ failure: { error: 'ExportFailed', cause: 'It is so.' } }), deps);

  expect(night('2026-11-20')).toMatchObject({
    complete: false,
    entities: { leads: { file: null, error: 'ExportFailed' }, workflows: { file: { rows: 1 }, error: null } },
  });
  expect(deps.log.lines).toMatchObject([
    { message: 'night', fields: { revision: 1, missing: ENTITIES.filter((entity) => entity !== 'workflows') } },
  ]);
});

test('logs a failure to record the night, and does not fail the run', async () => {
  const before = failing('read', 'nights', new RunError('StorageUnavailable', 'Down.'));
  const { deps, bucket } = nights({ before });

  await recordNight(runState(), deps);

  expect(deps.log.lines).toMatchObject([{ fields: { error: 'StorageUnavailable' } }]);
  expect(bucket.keys()).toEqual([]);
});

test('the check records complete nights that killed runs left out, for seven dates', async () => {
  const { deps, publish, night, bucket } = nights();
  const dates = ['2026-11-13', '2026-11-14', '2026-11-20'];
  for (const date of dates) for (const entity of ENTITIES) publish(entity, date);

  await checkNights(new Date('2026-11-20T12:30:00Z'), deps);

  expect(dates.map((date) => night(date)?.complete)).toEqual([undefined, true, true]);
  expect(bucket.text(completeKey({ date: '2026-11-20', revision: 1 }))).toBe(bucket.text(nightKey('2026-11-20')));
  expect(bucket.keys().filter((key) => key.startsWith('published/nights/date='))).toHaveLength(2);
});

test('the check continues with the other dates if one cannot be read', async () => {
  const before = failing('read', 'nights/date=2026-11-20', new RunError('StorageConflict', 'It is none.'));
  const { deps, publish, night } = nights({ before });
  for (const date of ['2026-11-19', '2026-11-20']) publish('leads', date);

  await checkNights(new Date('2026-11-20T12:30:00Z'), deps);

  expect([night('2026-11-19')?.revision, night('2026-11-20')]).toEqual([1, undefined]);
});

describe('the check of the night of 20 November, which begins at 01:00 and must be complete at 02:42,', () => {
  /** The counts of a check at a time of that date, long after the first check. */
  async function countedAt(time: string, { deps, bucket }: ReturnType<typeof nights>) {
    bucket.put(SINCE_KEY, '{"since":"2026-01-01T00:00:00.000Z"}');
    await checkNights(new Date(`2026-11-20T${time}:00Z`), deps);
    return deps.log.measured.map(({ values }) => values.NightIncomplete);
  }

  test.each([
    ['02:41', 0],
    ['02:42', 1],
    ['08:41', 1],
    ['08:42', 0],
  ])('counts it for six hours after its deadline if it has no files: at %s, %i', async (time, count) => {
    const { deps, ...others } = nights();

    expect(await countedAt(time, { deps, ...others })).toEqual([count]);
    const told = { message: 'night not complete by its deadline', fields: { date: '2026-11-20', missing: ENTITIES } };
    expect(deps.log.lines).toMatchObject(count === 1 ? [told] : []);
  });

  test('does not count it if it is complete', async () => {
    const all = nights();
    for (const entity of ENTITIES) all.publish(entity, '2026-11-20');

    expect(await countedAt('03:30', all)).toEqual([0]);
  });

  test('counts nothing if it cannot be read, so that missing numbers raise the alarm', async () => {
    const down = new RunError('StorageUnavailable', 'Down.');

    expect(await countedAt('03:30', nights({ before: failing('read', '2026-11-20', down) }))).toEqual([]);
  });

  test('does not count it if it began before the first check, which records its time once', async () => {
    const { deps, bucket } = nights();

    for (const hour of ['03', '04']) await checkNights(new Date(`2026-11-20T${hour}:30:00Z`), deps);

    expect(deps.log.measured.map(({ values }) => values)).toEqual([{ NightIncomplete: 0 }, { NightIncomplete: 0 }]);
    expect(bucket.text(SINCE_KEY)).toBe('{"since":"2026-11-20T03:30:00.000Z"}');
    expect(bucket.calls.filter((call) => call === `putOnce ${SINCE_KEY}`)).toHaveLength(1);
  });

  test('counts nothing while the time of the first check cannot be read', async () => {
    const { deps } = nights({ objects: { [SINCE_KEY]: 'yesterday' } });

    await checkNights(new Date('2026-11-20T12:30:00Z'), deps);

    expect(deps.log.measured).toEqual([]);
    expect(deps.log.lines).toMatchObject([{ fields: { error: 'StorageConflict' } }]);
  });
});

const settings = deployment({ timeZone: 'Asia/Jerusalem', nightly: { at: '01:30' } });
const of = (state: RunState, more: object = {}) => nightOfRun({ ...state, ...more }, settings);
const failed = (error = 'CrmUnavailable') => ({ failure: { error, cause: 'It is so.' } });
const FAILURE = { entity: 'leads', error: 'CrmUnavailable' };

test('the night of a run is its date', () => {
  expect(of(runState())).toEqual({ date: '2026-11-20', failure: undefined });
  expect(of(runState(failed()))).toEqual({ date: '2026-11-20', failure: FAILURE });
});

test.each([
  ['crash', 'StepCrashed'],
  ['tableCrash', 'TableNotWritten'],
])('if a function died (%s), the error of the night is the one in which the machine ends: %s', (key, error) => {
  expect(of(runState(), { [key]: { Error: 'Sandbox.Timedout' } })?.failure).toEqual({ entity: 'leads', error });
});

test('a run that fails at its feed leaves no error, because a night does not wait for feeds', () => {
  expect(of(runState(failed('ChangesStopped')))?.failure).toBeUndefined();
});

describe('a run that fails before its export is requested', () => {
  test.each<[string, object, string]>([
    ['of a rule has the local date of its schedule', { scheduledFor: '2026-11-20T23:30:00Z' }, '2026-11-21'],
    ['of a person has the requested date', { date: '2026-11-02' }, '2026-11-02'],
    ['without either has the day of its start', {}, '2026-11-20'],
  ])('%s', (_, more, date) => {
    expect(of(newState({ entity: 'leads', ...more }, failed()))).toEqual({ date, failure: FAILURE });
  });

  test.each([{ columns: ['name'] }, { filters: [] }, { filtersOperator: 'OR' }])(
    'leaves no error if partial: %j',
    (plan) => {
      // A failing step keeps that much of its input.
      const kept = nightInput({ entity: 'leads', ...plan });

      expect(kept).toEqual({ entity: 'leads', ownPlan: true });
      for (const input of [kept, { entity: 'leads', ...plan }])
        expect(of(newState(input, failed()))).toEqual({ date: '2026-11-20', failure: undefined });
    },
  );

  test('has no night if its input is wrong', () => {
    expect(of(newState({ entity: 'leads', date: '2026-11-02' }, failed('InvalidInput')))).toBeUndefined();
    expect(of(newState(null, failed()))).toBeUndefined();
  });
});

test('a release has the date of its file; a failed release or table run has no night', () => {
  const input = { entity: 'leads', release: 'night-1', reason: 'It is right.' };
  const released = { run: 'night-1', date: '2026-11-03', kind: 'full', latest: false } as const;

  expect(of(newState(input, { released }))).toEqual({ date: '2026-11-03', failure: undefined });
  expect(of(newState(input, failed()))).toBeUndefined();
  expect(of(newState({ entity: 'leads', table: { run: 'night-1' } }, failed('TableNotWritten')))).toBeUndefined();
});

test('a failed partial run leaves no error', () => {
  expect(of(runState({ run: run({ kind: 'partial' }), ...failed() }))?.failure).toBeUndefined();
});
