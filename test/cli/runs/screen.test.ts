import { afterEach, expect, test, vi } from 'vitest';
import type { Progress } from '../../../cli/runs/executions.ts';
import { createScreen } from '../../../cli/runs/screen.ts';
import { terminal } from '../../local/support/terminal.ts';

const row = (more: Partial<Progress> = {}): Progress => ({
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
const withoutTimes = (lines: string[]) => lines.map((line) => line.replace(/\d+\.\d s/, 'N s'));

afterEach(() => {
  vi.unstubAllEnvs();
});

test('without a terminal every step is one plain line with its result', async () => {
  const { stream, raw } = terminal(false);
  const screen = createScreen(stream);
  expect(
    await screen.step(
      'First',
      async () => 7,
      (value) => `gave ${value}`,
    ),
  ).toBe(7);
  await screen.step('Second', async () => screen.line('  within'));
  expect(withoutTimes(raw().split('\n'))).toEqual(['✓ First N s gave 7', '  within', '✓ Second N s', '']);
});

test('a step that fails is shown as failed, and its error goes on', async () => {
  const { stream, seen } = terminal(false);
  const work = () => Promise.reject(new Error('no'));
  await expect(createScreen(stream).step('First', work)).rejects.toThrow('no');
  expect(withoutTimes(seen())).toEqual(['✗ First N s', '']);
});

test('without a terminal a line comes per change of a run, and nothing that a terminal would obey', () => {
  const { stream, raw } = terminal(false);
  const screen = createScreen(stream);
  screen.progress([row({ state: '' }), row({ entity: 'contacts' })]);
  screen.progress([row({ state: '' }), row({ entity: 'contacts', seconds: 9 })]);
  screen.progress([row(), row({ entity: 'contacts', state: 'ExportFailed', status: 'FAILED' })]);
  screen.progress([row({ state: 'ExportPublished', status: 'SUCCEEDED', bytes: 20_000 })]);
  screen.endProgress();
  expect(raw()).toBe(
    [
      '  contacts: CheckStatus, 1 check (1.2 s)',
      '  leads: CheckStatus, 1 check (1.2 s)',
      '  contacts: ExportFailed (FAILED), 1 check (1.2 s)',
      '  leads: ExportPublished (SUCCEEDED), 1 check, 20.0 kB (1.2 s)\n',
    ].join('\n'),
  );
});

test('on a terminal a step shows that it runs, then what came of it, in one place', async () => {
  const { stream, seen } = terminal(true);
  const screen = createScreen(stream);
  const { promise, resolve } = Promise.withResolvers<void>();
  const step = screen.step('First', () => promise);
  expect(seen()).toEqual(['… First', '']);
  resolve();
  await step;
  expect(withoutTimes(seen())).toEqual(['✓ First N s', '']);
});

test('on a terminal a line during a step stays, whole, above the step', async () => {
  const { stream, seen } = terminal(true);
  const screen = createScreen(stream);
  await screen.step('Authorization', async () => {
    screen.line('Open: http://127.0.0.1/authorize?x=1');
    expect(seen()).toEqual(['Open: http://127.0.0.1/authorize?x=1', '… Authorization', '']);
  });
  expect(withoutTimes(seen())).toEqual(['Open: http://127.0.0.1/authorize?x=1', '✓ Authorization N s', '']);
});

test('on a terminal there is one live row per entity, and the last rows stay', () => {
  const { stream, seen } = terminal(true);
  const screen = createScreen(stream);
  screen.line('Runs');
  screen.progress([row(), row({ entity: 'contacts', state: '' })]);
  expect(seen()).toEqual([
    'Runs',
    '  entity    state        checks  bytes  elapsed',
    '  leads     CheckStatus  1              1.2 s',
    '  contacts  starting     1              1.2 s',
    '',
  ]);
  screen.progress([
    row({ status: 'SUCCEEDED', state: 'ExportPublished', bytes: 512 }),
    row({ entity: 'contacts', checks: 2 }),
  ]);
  screen.endProgress();
  screen.line('End');
  expect(seen().slice(2)).toEqual([
    '  leads     ExportPublished (SUCCEEDED)  1       512 B  1.2 s',
    '  contacts  CheckStatus                  2              1.2 s',
    'End',
    '',
  ]);
});

test('while a file moves, its bytes are shown and how many there are', () => {
  const moving = row({ state: 'DownloadFile', bytes: 41_943_040, totalBytes: 96_000_000 });
  const plain = terminal(false);
  const live = terminal(true);
  createScreen(plain.stream).progress([moving]);
  createScreen(live.stream).progress([moving]);
  expect(plain.seen()).toEqual(['  leads: DownloadFile, 1 check, 41.9 MB of 96.0 MB (1.2 s)', '']);
  expect(live.seen()[1]).toBe('  leads   DownloadFile  1       41.9 MB of 96.0 MB  1.2 s');
});

test('NO_COLOR takes the colours away', async () => {
  const coloured = terminal(true);
  vi.stubEnv('NO_COLOR', undefined);
  vi.stubEnv('FORCE_COLOR', '1');
  await createScreen(coloured.stream).step('First', async () => 0);
  expect(coloured.raw()).toContain('\u001b[32m✓');
  const plain = terminal(true);
  vi.stubEnv('NO_COLOR', '1');
  await createScreen(plain.stream).step('First', async () => 0);
  expect(plain.raw()).not.toContain('\u001b[32m');
});

test('a run that waits shows the last trouble, the next look and the deadline', () => {
  const waiting = {
    state: 'WaitBeforeCheck',
    checks: 2,
    trouble: { error: 'CrmUnavailable', status: 503, count: 3 },
    nextTryAt: '2026-11-20T03:12:05.000Z',
    deadline: '2026-11-20T07:00:00.000Z',
  };
  const waits = row({ state: 'WaitBeforeCheck', checks: 2, waiting });
  const plain = terminal(false);
  const live = terminal(true);
  createScreen(plain.stream).progress([waits]);
  createScreen(live.stream).progress([waits]);
  const text = /the last 3 refused: 503, next look (\S+ )?03:12:05, deadline (\S+ )?07:00:00 UTC/;
  expect(plain.seen()[0]).toMatch(new RegExp(`^  leads: WaitBeforeCheck, 2 checks, ${text.source} \\(1\\.2 s\\)$`));
  expect(live.seen().slice(1).join('\n')).toMatch(new RegExp(`^  leads .*\\n    ${text.source}\\n$`));
});
