import { describe, expect, test } from 'vitest';
import { ALL_FUNCTIONS } from '../../core/step/steps.ts';
import { compareRecorded } from './support/recorded.ts';

/** Runs after the end-to-end tests of `npm test`: vitest.config.ts. `recorded.slow.test.ts` does so after the slow ones. */

const recorded = await compareRecorded();

test('the end-to-end tests of this run recorded calls of every function', () => {
  expect(recorded.functions.toSorted()).toEqual(ALL_FUNCTIONS.toSorted());
});

describe('the rights of every role', () => {
  test('allow every recorded call', () => {
    expect(recorded.refused).toEqual([]);
  });

  test('are each used by a recorded call, or have a reason', () => {
    expect(recorded.idleWithoutReason).toEqual([]);
  });

  test('have an excuse only if they exist and no call uses them', () => {
    expect(recorded.needless).toEqual([]);
  });
});
