import { describe, expect, test } from 'vitest';
import { nightInput } from '../../../core/step/run-input.ts';
import type { RunState } from '../../../core/step/states.ts';
import { nightOfRun } from '../../../lambdas/record-night/record-night.ts';
import { deployment, newState, run, runState } from '../../support/builders.ts';

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

describe('a run that fails before its export is requested', () => {
  test.each<[string, object, string]>([
    ['of a rule has the local date of its schedule', { scheduledFor: '2026-11-20T23:30:00Z' }, '2026-11-21'],
    ['of a person has the requested date', { date: '2026-11-02' }, '2026-11-02'],
    ['without either has the day of its start', {}, '2026-11-20'],
  ])('%s', (_, more, date) => {
    expect(of(newState({ entity: 'leads', ...more }, failed()))).toEqual({ date, failure: FAILURE });
  });

  test.each([{ columns: ['name'] }, { filters: [] }, { filtersOperator: 'OR' }])(
    'leaves no error if its input makes it partial (%j)',
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
