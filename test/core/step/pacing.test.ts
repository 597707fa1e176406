import { expect, test } from 'vitest';
import { pacingOf } from '../../../core/step/export-run.ts';
import { nextWait, type Pacing } from '../../../core/step/step.ts';
import { deployment, newState, run, runState, STARTED_AT } from '../../support/builders.ts';

const FAR = new Date('2026-11-21T00:00:00Z');
const pacing = (overrides: Partial<Pacing> = {}): Pacing => ({
  firstWaitSeconds: 10,
  largestWaitSeconds: 1000,
  deadline: FAR,
  ...overrides,
});
const clock = (random = 0.5, now = STARTED_AT) => ({ now: new Date(now), random: () => random });
/** A clock that many seconds before the deadline. */
const before = (seconds: number) => ({ now: new Date(FAR.getTime() - seconds * 1000), random: () => 0.5 });

test.each<[string, ReturnType<typeof nextWait>, Parameters<typeof nextWait>]>([
  ['the first wait', 10, [0, pacing(), clock()]],
  ['the second wait, half as long again', 15, [1, pacing(), clock()]],
  ['the sixth wait', 76, [5, pacing(), clock()]],
  ['the shortest sixth wait', 57, [5, pacing(), clock(0)]],
  ['the longest sixth wait', 95, [5, pacing(), clock(0.999999)]],
  ['the shortest first wait, not below the configured one', 10, [0, pacing(), clock(0)]],
  ['the longest wait, not above the configured one', 1000, [100_000, pacing(), clock(0.999999)]],
  ['a Retry-After above the largest wait', 3000, [0, pacing(), clock(), 3000]],
  ['a Retry-After below the calculated wait', 34, [3, pacing(), clock(), 1]],
  ['the last wait, which ends at the deadline', 7, [9, pacing(), before(7)]],
  ['less than a second before the deadline', 1, [9, pacing(), before(0.2)]],
  ['a Retry-After beyond the deadline', 60, [0, pacing(), before(60), Number.POSITIVE_INFINITY]],
  ['no wait at the deadline', undefined, [0, pacing(), before(0)]],
  ['no wait after the deadline', undefined, [0, pacing(), before(-1), 30]],
])('nextWait returns %s', (_, seconds, given) => {
  expect(nextWait(...given)).toBe(seconds);
});

test('a run that has begun keeps its own pacing, even if the configuration changes', () => {
  const state = runState({ run: run({ firstWaitSeconds: 7, largestWaitSeconds: 70 }) });

  expect(pacingOf(state, deployment())).toMatchObject({
    firstWaitSeconds: 7,
    largestWaitSeconds: 70,
    deadline: new Date('2026-11-20T02:00:00Z'),
  });
});

test('a run that has not begun has the pacing of its entity, counted from the start of the execution', () => {
  const entities = { leads: { polling: { firstWaitSeconds: 3, deadlineSeconds: 60 } } };

  expect(pacingOf(newState(), deployment({ entities }))).toEqual({
    firstWaitSeconds: 3,
    largestWaitSeconds: 100,
    deadlineSeconds: 60,
    createAgainSeconds: 300,
    deadline: new Date('2026-11-20T01:01:00Z'),
  });
});

test.each([[null], ['leads'], [{ entity: 'cars' }]])('input %j has the pacing of the deployment', (input) => {
  expect(pacingOf(newState(input), deployment())).toMatchObject({ firstWaitSeconds: 10, largestWaitSeconds: 100 });
});
