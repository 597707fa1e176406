import { beforeAll, describe, expect, test } from 'vitest';
import { ALL_FUNCTIONS } from '../../core/step/steps.ts';
import { compareRecorded } from './support/recorded.ts';

/** Runs after the end-to-end tests of `npm test`: vitest.config.ts. `recorded.slow.test.ts` does so after the slow ones. */

let recorded: Awaited<ReturnType<typeof compareRecorded>>;

beforeAll(async () => {
  recorded = await compareRecorded();
});

test('the end-to-end tests of this run left calls of every function', () => {
  expect(recorded.functions.toSorted()).toEqual(ALL_FUNCTIONS.toSorted());
});

describe('the rights of every role', () => {
  test('allow everything that was done', () => {
    expect(recorded.refused).toEqual([]);
  });

  test('are each used by something that was done, or have a reason', () => {
    expect(recorded.idleWithoutReason).toEqual([]);
  });

  test('are excused only where they exist and nothing uses them', () => {
    expect(recorded.needless).toEqual([]);
  });
});
