import { expect, test } from 'vitest';
import { exitCodeOfAll } from '../../../cli/support/all-deployments.ts';
import { isSettled } from '../../../cli/support/target.ts';

test('the exit code of several deployments is the smallest that is not 0, as a number', () => {
  expect(exitCodeOfAll([0, 0])).toBe(0);
  expect(exitCodeOfAll([0, 3, 1])).toBe(1);
  expect(exitCodeOfAll([130, 2])).toBe(2);
});

test.each(['CREATE_COMPLETE', 'UPDATE_COMPLETE', 'UPDATE_ROLLBACK_COMPLETE', 'IMPORT_ROLLBACK_COMPLETE'])(
  'a stack in %s is whole',
  (status) => {
    expect(isSettled(status)).toBe(true);
  },
);

test.each([
  ...['UPDATE_IN_PROGRESS', 'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', 'UPDATE_ROLLBACK_FAILED'],
  ...['ROLLBACK_COMPLETE', 'DELETE_FAILED'],
])('a stack in %s is not', (status) => {
  expect(isSettled(status)).toBe(false);
});
