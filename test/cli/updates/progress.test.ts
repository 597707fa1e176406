import { expect, test } from 'vitest';
import { progressText } from '../../../cli/updates/update.ts';
import { noCounts } from '../../../core/batch/batch-results.ts';

test.each([
  [{}, 0, '0 of 1,000 lines (0 %)'],
  [{ APPLIED: 999 }, 10, '999 of 1,000 lines (99 %), 99.9 a second'],
  [{ APPLIED: 8, REJECTED: 500, UNKNOWN: 1 }, 10, '509 of 1,000 lines (50 %), 50.9 a second; 500 REJECTED, 1 UNKNOWN'],
])('progress of a batch shows lines, percent, rate and lines that were not applied: %j', (counts, seconds, text) => {
  expect(progressText({ ...noCounts(), ...counts }, 1000, seconds)).toBe(text);
});
