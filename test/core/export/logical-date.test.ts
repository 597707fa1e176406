import { expect, test } from 'vitest';
import { dateProblem } from '../../../core/export/logical-date.ts';

const TODAY = '2026-11-20';
test.for([TODAY, '2026-11-19', '2000-01-01'])('accepts the date %s', (date) => {
  expect(dateProblem(date, TODAY, 'UTC')).toBeUndefined();
});

test.for(['2026-11-21', '2099-01-01', '1999-12-31', '1970-01-01', '0001-01-01', '0000-01-01', '+010000-01-01'])(
  'refuses the date %s, and the message contains the valid range',
  (date) => {
    expect(dateProblem(date, TODAY, 'UTC')).toBe(
      `${date} is not a valid date for an export: dates go from 2000-01-01 to today, 2026-11-20 in UTC.`,
    );
  },
);
