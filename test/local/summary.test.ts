import { expect, test } from 'vitest';
import type { NamedRun } from '../../cli/runs/run/run.ts';
import { textTable } from '../../cli/support/text-table.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { FinishedRun } from '../../local/runs.ts';
import { createScreen } from '../../local/screen.ts';
import { showSummary } from '../../local/summary.ts';
import { aRun } from '../cli/support/a-run.ts';
import { terminal } from './support/terminal.ts';

const report = (more: Partial<NamedRun> = {}): NamedRun =>
  aRun({ key: 'runs/leads.csv', bytes: 80_073, rows: 240, checks: 2, ...more });

function published(content: string): FinishedRun {
  const manifest = { entity: 'leads', file: { key: 'runs/leads.csv' } } as Manifest;
  return { report: report(), published: { manifest, start: Buffer.from(content) } };
}

function shown(runs: FinishedRun[]): string {
  const { stream, raw } = terminal(false);
  showSummary(createScreen(stream), runs, 'the-bucket');
  return raw();
}

const failed: FinishedRun = {
  report: report({
    entity: 'contacts',
    status: 'FAILED',
    outcome: 'failed',
    error: 'ExportFailed',
    cause: 'It failed. Start the run again.',
    key: null,
    manifestKey: null,
    bytes: null,
    rows: null,
  }),
};

test('a table shows every run; then one file, and where readers start', () => {
  const text = shown([published('id,name\r\n1,Dana\r\n'), failed]);
  expect(text).toContain(
    [
      '  entity    outcome       checks  rows  bytes    key',
      '  leads     published     2       240   80.1 kB  runs/leads.csv',
      '  contacts  ExportFailed  2',
    ].join('\n'),
  );
  expect(text).toMatch(/^contacts: ExportFailed: It failed\. Start the run again\.$/m);
  expect(text).toContain('The first lines of runs/leads.csv:\n  id,name');
  expect(text).toContain('s3://the-bucket/published/entity=leads/latest.json');
});

test('a run that ended well but is not believed is reported with the reason', () => {
  const cause = 'The run of leads is published, but there is no object x.';
  const text = shown([{ report: report({ outcome: 'failed', error: 'NotVerified', cause }) }]);
  expect(text).toMatch(/^ {2}leads +NotVerified +2/m);
  expect(text).toMatch(/^leads: NotVerified: The run of leads is published, but there is no object x\.$/m);
  expect(text).not.toContain('The first lines');
});

test('a run that was stopped by hand has its status as outcome', () => {
  expect(shown([{ report: report({ status: 'ABORTED', outcome: 'failed' }) }])).toMatch(/^ {2}leads +ABORTED/m);
});

test('a warning that several files have is told once', () => {
  const warned = (entity: NamedRun['entity']): FinishedRun => {
    const manifest = { entity, file: { key: 'k' }, warnings: ['The first night.'] } as Manifest;
    return { report: report({ entity }), published: { manifest, start: Buffer.from('id\n') } };
  };

  expect(shown([warned('leads'), warned('contacts')])).toMatch(/^leads, contacts: The first night\.$/m);
});

test('nothing in a file reaches the terminal as a command', () => {
  const nasty = '\ufeffid,\u001b[2J\u001b]0;title\u0007name\u009b31m\tx\r\n1,\u0000\u0008\u007fשלום\n';
  const text = shown([published(nasty)]);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\ufeff]/u);
  expect(text).toMatch(/^ {2}id,.*name.*x/m);
  expect(text).toContain('שלום');
});

test('of a file with long or many lines only the beginning is shown', () => {
  const text = shown([published(`${'x'.repeat(5000)}\n`.repeat(20))]);
  const lines = text.split('\n').filter((line) => line.startsWith('  xxx'));
  expect(lines).toEqual(Array(4).fill(`  ${'x'.repeat(110)}`));
});

test('a table is as wide as its widest cells', () => {
  expect(
    textTable(
      ['a', 'bb'],
      [
        ['ccc', 'd'],
        ['', 'e'],
      ],
    ),
  ).toBe('  a    bb\n  ccc  d\n       e');
  expect(textTable(['a'], [])).toBe('  a');
});
