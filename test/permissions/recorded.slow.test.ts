import { describe, expect, test } from 'vitest';
import { compareRecorded } from './support/recorded.ts';

/** Runs after the slow end-to-end tests: vitest.config.ts. That each right is used is in `recorded.test.ts`. */

const recorded = await compareRecorded();

test('the slow end-to-end tests of this run recorded calls', () => {
  expect(recorded.functions).not.toEqual([]);
});

describe('the rights of every role', () => {
  test('allow every recorded call', () => {
    expect(recorded.refused).toEqual([]);
  });

  test('have no excuse as unused if a slow test uses them', () => {
    expect(recorded.usedDespiteExcuse).toEqual([]);
  });
});
