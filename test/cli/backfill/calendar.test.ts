import { expect, test, vi } from 'vitest';
import { type BackfillDate, calendarText, createCalendarScreen, datesBetween } from '../../../cli/runs/backfill.ts';
import { terminal } from '../../local/support/terminal.ts';
import { aRun } from '../support/a-run.ts';

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

test('a terminal has one calendar, which changes in place and stays; a pipe has a line for each change first', () => {
  const show = (isTTY: boolean) => {
    const { stream, seen } = terminal(isTTY);
    const date: BackfillDate = { date: '2026-03-01', state: 'missing', ...NOTHING };
    const screen = createCalendarScreen([date], stream);
    screen.changed(Object.assign(date, { state: 'running', run: aRun() }));
    screen.changed(Object.assign(date, { state: 'failed', error: 'ExportFailed' }));
    screen.end();
    return seen().filter(Boolean);
  };
  vi.stubEnv('NO_COLOR', '1');

  expect(show(true).slice(1)).toEqual(['2026-03  ✕', '1 date: ✓ 0 published  … 0 under way  ✕ 1 failed  · 0 to do']);
  expect(show(false).slice(0, 2)).toEqual([
    '2026-03-01: under way, leads-1',
    '2026-03-01: failed, leads-1, ExportFailed',
  ]);
});
