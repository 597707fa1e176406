import { expect, test } from 'vitest';
import { type BackfillDate, calendarText, datesBetween, fillDate } from '../../../cli/runs/backfill.ts';
import { aws } from '../support/cloud/cloud.ts';

const NOTHING = { run: null, error: null };

test('a range has all its dates, over the ends of months and years and a leap day', () => {
  expect(datesBetween('2024-02-28', '2024-03-01')).toEqual(['2024-02-28', '2024-02-29', '2024-03-01']);
  expect(datesBetween('2025-12-31', '2026-01-01')).toEqual(['2025-12-31', '2026-01-01']);
  expect(datesBetween('2026-01-01', '2026-01-01')).toEqual(['2026-01-01']);
  expect(datesBetween('2000-01-01', '2026-11-22')).toHaveLength(9823);
});

test('the calendar has a row for each month, and a mark below the number of the day', () => {
  const states: BackfillDate['state'][] = ['published', 'failed', 'running', 'missing', 'missing'];
  const dates = datesBetween('2026-02-27', '2026-03-03');

  const text = calendarText(
    dates.map((date, index) => ({ date, state: states[index] ?? 'missing', ...NOTHING })),
    {},
  );

  expect(text.split('\n')).toEqual([
    '         1   5    10   15   20   25   30',
    `2026-02  ${' '.repeat(26)}✓✕`,
    '2026-03  …··',
    '5 dates: ✓ 1 published  … 1 under way  ✕ 1 failed  · 2 to do',
  ]);
});

const missing = (date: string): BackfillDate => ({ date, state: 'missing', ...NOTHING });
const change = (date: BackfillDate, to: Partial<BackfillDate>) => void Object.assign(date, to);

test('a date that was published since the calendar was made is not started', async () => {
  const cloud = await aws();
  cloud.publish({ date: '2026-03-01' });
  const date = missing('2026-03-01');

  await fillDate(cloud.target, 'leads', date, new AbortController().signal, change);

  expect(date).toEqual({ ...missing('2026-03-01'), state: 'published' });
  expect(cloud.asked).not.toContain('StartExecution');
});

test('after Ctrl-C nothing is started, however far a date was looked at', async () => {
  const cloud = await aws();
  const date = missing('2026-03-01');

  await expect(fillDate(cloud.target, 'leads', date, AbortSignal.abort(), change)).rejects.toThrow();

  expect(date.state).toBe('missing');
  expect(cloud.asked).not.toContain('StartExecution');
});
