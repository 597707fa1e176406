import { expect, test } from 'vitest';
import type { Progress } from '../../../cli/runs/follow.ts';
import { progressLines } from '../../../cli/runs/follow.ts';

const progress = (more: Partial<Progress> = {}): Progress => ({
  entity: 'leads',
  state: 'CheckStatus',
  status: 'RUNNING',
  checks: 1,
  bytes: null,
  totalBytes: null,
  waiting: null,
  seconds: 1.23,
  ...more,
});

/** The printed lines for these observations of one run. */
function linesOf(...seen: Partial<Progress>[]): string[] {
  const lines: string[] = [];
  const show = progressLines((line) => lines.push(line));
  for (const each of seen) show(progress(each));
  return lines;
}

test('every change of state is one line', () => {
  const lines = linesOf(
    { state: '' },
    {},
    { seconds: 9 },
    { checks: 2, seconds: 10 },
    { state: 'DownloadFile', checks: 2, seconds: 11 },
    { state: 'ExportPublished', checks: 2, status: 'SUCCEEDED', bytes: 20_000, totalBytes: 20_000, seconds: 12 },
  );

  expect(lines).toEqual([
    '  leads: CheckStatus, 1 check (1.2 s)',
    '  leads: CheckStatus, 2 checks (10.0 s)',
    '  leads: DownloadFile, 2 checks (11.0 s)',
    '  leads: ExportPublished (SUCCEEDED), 2 checks, 20.0 kB (12.0 s)',
  ]);
});

test('a run that fails says how it ended', () => {
  expect(linesOf({}, { state: 'ExportFailed', status: 'FAILED' })[1]).toBe(
    '  leads: ExportFailed (FAILED), 1 check (1.2 s)',
  );
});

test('while a file moves, one line comes every ten seconds: bytes, rate and share', () => {
  const moving = (seconds: number, bytes: number | null) => ({
    state: 'DownloadFile',
    bytes,
    totalBytes: 96_000_000,
    seconds,
  });

  const lines = linesOf(
    moving(5, null),
    ...Array.from({ length: 31 }, (_, second) => moving(5 + second, second * 2_000_000)),
  );

  expect(lines).toEqual([
    '  leads: DownloadFile, 1 check (5.0 s)',
    '  leads: 20.0 MB of 96.0 MB, 2.0 MB/s, 20 % (15.0 s)',
    '  leads: 40.0 MB of 96.0 MB, 2.0 MB/s, 41 % (25.0 s)',
    '  leads: 60.0 MB of 96.0 MB, 2.0 MB/s, 62 % (35.0 s)',
  ]);
});

test('after the last byte is stored, no line about the file comes any more', () => {
  const stored = (seconds: number) => ({ state: 'PublishFile', bytes: 96_000_000, totalBytes: 96_000_000, seconds });

  expect(linesOf(stored(5), stored(15), stored(45))).toEqual(['  leads: PublishFile, 1 check (5.0 s)']);
});

test('a file that stands still says so; of one whose size is not known there is no share', () => {
  const moving = (seconds: number, bytes: number) => ({ state: 'DownloadFile', bytes, seconds });

  expect(linesOf(moving(0, 0), moving(10, 50_000_000), moving(20, 50_000_000)).slice(1)).toEqual([
    '  leads: 50.0 MB, 5.0 MB/s (10.0 s)',
    '  leads: 50.0 MB, 0 B/s (20.0 s)',
  ]);
});

test('a run that waits shows the last trouble, the next look and the deadline', () => {
  const waiting = {
    state: 'WaitBeforeCheck',
    checks: 2,
    trouble: { error: 'CrmUnavailable', status: 503, count: 3 },
    nextTryAt: '2026-11-20T03:12:05.000Z',
    deadline: '2026-11-20T07:00:00.000Z',
  };

  expect(linesOf({ state: 'WaitBeforeCheck', checks: 2, waiting })[0]).toMatch(
    /^ {2}leads: WaitBeforeCheck, 2 checks, the last 3 refused: 503, next look (\S+ )?03:12:05, deadline (\S+ )?07:00:00 UTC \(1\.2 s\)$/,
  );
});
