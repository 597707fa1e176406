import { expect, test } from 'vitest';
import { type BatchProgress, createProgressDisplay, progressText } from '../../../cli/updates/finish.ts';
import { noCounts } from '../../../core/batch/batch-results.ts';
import { terminal } from '../../local/support/terminal.ts';

function at(lines: number, more: Partial<BatchProgress> = {}): BatchProgress {
  return { counts: { ...noCounts(), APPLIED: lines }, lines, records: 1000, seconds: 10, ...more };
}

function shown(isTTY: boolean, seen: BatchProgress[]): string[] {
  const screen = terminal(isTTY);
  const display = createProgressDisplay(screen.stream);
  for (const progress of seen) display.show(progress);
  display.end();
  return screen.seen();
}

test('a batch is reported by lines, percent and rate, and by what did not go well', () => {
  expect(progressText(at(0, { seconds: 0 }))).toBe('0 of 1,000 lines (0 %)');
  expect(progressText(at(999))).toBe('999 of 1,000 lines (99 %), 99.9 a second');
  const counts = { ...noCounts(), APPLIED: 8, REJECTED: 1500, UNKNOWN: 1 };
  expect(progressText(at(10, { counts }))).toBe('10 of 1,000 lines (1 %), 1.0 a second; 1,500 REJECTED, 1 UNKNOWN');
});

test('a pipe gets a line for every twentieth part', () => {
  const every = Array.from({ length: 1001 }, (_, lines) => at(lines));
  const lines = shown(false, every).filter(Boolean);
  expect(lines).toHaveLength(21);
  expect(lines.at(-1)).toBe('1,000 of 1,000 lines (100 %), 100.0 a second');
});

test('a terminal has one row with a bar, drawn again', () => {
  expect(shown(true, [at(0), at(500)]).filter(Boolean)).toEqual([
    `[${'█'.repeat(12)}${'░'.repeat(12)}] 500 of 1,000 lines (50 %), 50.0 a second`,
  ]);
  expect(shown(true, [at(1000)])[0]).toMatch(/^\[█{24}\] 1,000 of 1,000 lines \(100 %\)/);
});
