import { expect, test } from 'vitest';
import { dateProblem } from '../../../core/export/logical-date.ts';

const TODAY = '2026-11-20';
test.for([TODAY, '2026-11-19', '2000-01-01'])('%s is a date for an export', (date) => {
  expect(dateProblem(date, TODAY, 'UTC')).toBeUndefined();
});

test.for(['2026-11-21', '2099-01-01', '1999-12-31', '1970-01-01', '0001-01-01', '0000-01-01', '+010000-01-01'])(
  '%s is none, and the sentence says which are',
  (date) => {
    expect(dateProblem(date, TODAY, 'UTC')).toBe(
      `${date} is not a valid date for an export: dates go from 2000-01-01 to today, 2026-11-20 in UTC.`,
    );
  },
);
