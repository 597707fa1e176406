import { expect, test } from 'vitest';
import { isSchedule } from '../../../core/schedule/next-starts.ts';

test.each([
  'rate(1 minute)',
  'rate(5 minutes)',
  'rate(12 hours)',
  'cron(30 22 * * ? *)',
  'cron(0/15 1-5 ? * MON-FRI *)',
  'cron(0 8 1 JAN,JUL ? 2026-2030)',
  'cron(15 12 ? * 6#3 *)',
  'cron(0 0 L * ? *)',
  'cron(0 0 15W * ? *)',
])('accepts %s', (expression) => {
  expect(isSchedule(expression)).toBe(true);
});

test.each([
  '0 1 * * *',
  'cron(0 1 * * *)',
  'cron(0 1 * * * *)',
  'cron(0 1 ? * ? *)',
  'cron(99 1 * * ? *)',
  'cron(0 24 * * ? *)',
  'cron(0 1 32 * ? *)',
  'cron(0 1 ? * MOO *)',
  'cron(5-1 1 * * ? *)',
  'cron(0/0 1 * * ? *)',
  'cron(? 1 * * ? *)',
  'cron(0 1 * * ? 1969)',
  'rate(1 minutes)',
  'rate(5 minute)',
  'rate(0 minutes)',
  'rate(banana)',
  '',
])('refuses %s', (expression) => {
  expect(isSchedule(expression)).toBe(false);
});
