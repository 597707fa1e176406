import { expect, test } from 'vitest';
import { waitingOf, waitingText } from '../../../cli/runs/executions.ts';
import { run, runState } from '../../support/builders.ts';

const at = new Date('2026-11-20T03:10:00.000Z');
const deadline = '2026-11-20T07:00:00.000Z';
const trouble = { error: 'CrmUnavailable', status: 503, count: 3, deadline };

function textOf(name: string, state: object, now = at): string | null {
  const waiting = waitingOf({ name, at, state: runState({ waitSeconds: 125, ...state }) });
  return waiting && waitingText(waiting, now);
}

test('without an answer, names the error; before the run has a plan, names the deadline of the trouble', () => {
  const state = { run: null, trouble: { ...trouble, status: null, count: 1 } };
  expect(textOf('WaitBeforeCreate', state)).toBe(
    'WaitBeforeCreate, 3 checks answered, the last try failed: CrmUnavailable, next try 03:12:05, deadline 07:00:00 UTC',
  );
});

test('prints the date of a time on another day', () => {
  const state = { checks: 1, run: run({ deadline: '2026-11-21T01:00:00.000Z' }) };
  expect(textOf('WaitBeforeCheck', state)).toBe(
    'WaitBeforeCheck, 1 check, next try 03:12:05, deadline 2026-11-21 01:00:00 UTC',
  );
});

test('is empty for a run that does not wait', () => {
  expect(textOf('CheckStatus', { checks: 1, run: run({ deadline }) })).toBeNull();
  expect(waitingOf({ name: 'WaitBeforeCheck', at, state: undefined })).toBeNull();
});
