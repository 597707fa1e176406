import fc from 'fast-check';
import { expect, test } from 'vitest';
import { deadlineOf, pacingOf } from '../../../core/step/export-run.ts';
import { nextWait, type Pacing } from '../../../core/step/step.ts';
import { deployment, newState, run, runState, STARTED_AT } from '../../support/builders.ts';
import { at } from '../../support/deps.ts';

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

test('waits grow by half each time', () => {
  const waits = [0, 1, 2, 3, 4, 5].map((done) => nextWait(done, pacing(), clock()));

  expect(waits).toEqual([10, 15, 23, 34, 51, 76]);
});

test('a wait is drawn from three quarters to five quarters of its place in the series', () => {
  expect(nextWait(5, pacing(), clock(0))).toBe(57);
  expect(nextWait(5, pacing(), clock(0.999999))).toBe(95);
});

test('no wait is shorter than the first, whatever the jitter', () => {
  expect(nextWait(0, pacing(), clock(0))).toBe(10);
});

test('no wait is longer than the largest, whatever the jitter and however many came before', () => {
  expect(nextWait(500, pacing(), clock(0.999999))).toBe(1000);
  expect(nextWait(100_000, pacing(), clock(0.999999))).toBe(1000);
});

test('what the CRM asks for is a lower bound, above the largest wait too', () => {
  expect(nextWait(0, pacing(), clock(), 86)).toBe(86);
  expect(nextWait(0, pacing(), clock(), 3000)).toBe(3000);
});

test('a CRM that always says "in one second" does not shorten the own waits', () => {
  expect(nextWait(3, pacing(), clock(), 1)).toBe(34);
});

test('the last wait ends at the deadline, so that a run gives up after one last look', () => {
  expect(nextWait(9, pacing(), before(7))).toBe(7);
  expect(nextWait(9, pacing(), before(0.2))).toBe(1);
});

test('a Retry-After beyond the deadline ends at the deadline', () => {
  expect(nextWait(0, pacing(), before(60), 86_400)).toBe(60);
  expect(nextWait(0, pacing(), before(60), Number.POSITIVE_INFINITY)).toBe(60);
});

test('at the deadline and after it there is no further wait', () => {
  expect(nextWait(0, pacing(), before(0))).toBeUndefined();
  expect(nextWait(0, pacing(), before(-1), 30)).toBeUndefined();
});

test('every wait is a whole number of seconds from one to what is left, and at least what was requested', () => {
  const cases = fc.record({
    waits: fc.nat(2000),
    first: fc.integer({ min: 1, max: 3600 }),
    more: fc.nat(3600),
    random: fc.double({ min: 0, max: 0.999999, noNaN: true }),
    left: fc.double({ min: 0.001, max: 90_000, noNaN: true }),
    asked: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: undefined }),
  });

  fc.assert(
    fc.property(cases, ({ waits, first, more, random, left, asked }) => {
      const bounds = pacing({ firstWaitSeconds: first, largestWaitSeconds: first + more });
      const wait = nextWait(waits, bounds, { ...before(left), random: () => random }, asked) ?? 0;

      const rest = Math.ceil((FAR.getTime() - before(left).now.getTime()) / 1000);
      expect(Number.isInteger(wait)).toBe(true);
      expect(wait).toBeGreaterThanOrEqual(1);
      expect(wait).toBeGreaterThanOrEqual(Math.min(rest, Math.max(first, asked ?? 0)));
      expect(wait).toBeLessThanOrEqual(Math.min(rest, Math.max(first + more, Math.ceil(asked ?? 0))));
    }),
  );
});

test('neither more waits nor a larger Retry-After ever make a wait shorter', () => {
  const cases = fc.tuple(
    fc.nat(60),
    fc.nat(60),
    fc.nat(5000),
    fc.nat(5000),
    fc.double({ min: 0, max: 0.99, noNaN: true }),
  );

  fc.assert(
    fc.property(cases, ([waits, moreWaits, asked, moreAsked, random]) => {
      const wait = nextWait(waits, pacing(), clock(random), asked) ?? 0;

      expect(nextWait(waits + moreWaits, pacing(), clock(random), asked + moreAsked)).toBeGreaterThanOrEqual(wait);
    }),
  );
});

test('a run that has begun keeps its own pacing, though the configuration has changed since', () => {
  const state = runState({ run: run({ firstWaitSeconds: 7, largestWaitSeconds: 70 }) });

  expect(pacingOf(state, deployment())).toMatchObject({
    firstWaitSeconds: 7,
    largestWaitSeconds: 70,
    deadline: new Date('2026-11-20T02:00:00Z'),
  });
});

test('before the run has begun the pacing is that of its entity, counted from the start of the execution', () => {
  const entities = { leads: { polling: { firstWaitSeconds: 3, deadlineSeconds: 60 } } };

  expect(pacingOf(newState(), deployment({ entities }))).toEqual({
    firstWaitSeconds: 3,
    largestWaitSeconds: 100,
    deadlineSeconds: 60,
    createAgainSeconds: 300,
    deadline: new Date('2026-11-20T01:01:00Z'),
  });
});

test.each([[null], [[]], [7], ['leads'], [{}], [{ entity: 'cars' }]])(
  'input %j has the pacing of the deployment',
  (input) => {
    expect(pacingOf(newState(input), deployment())).toMatchObject({ firstWaitSeconds: 10, largestWaitSeconds: 100 });
  },
);

test('the deadline counts from the start of the execution', () => {
  expect(deadlineOf(STARTED_AT, 90)).toEqual(at('2026-11-20T01:01:30Z')());
});
