import { expect, test } from 'vitest';
import { createProgram } from '../../cli/program.ts';
import type { Run } from '../../cli/runs/run.ts';
import type { Entity } from '../../core/config/entities.ts';
import { endpointLines, type FinishedRun, showSummary } from '../../local/nights.ts';
import { createScreen } from '../../local/screen.ts';
import { faultSchema } from '../../sandbox/faults.ts';
import { aRun } from '../cli/support/a-run.ts';
import { manifestOf } from '../support/manifests.ts';

const report = (more: Partial<Run> = {}): Run =>
  aRun({ key: 'runs/leads.csv', bytes: 80_073, rows: 240, checks: 2, ...more });

function published(entity: Entity, content: string, warnings: string[] = []): FinishedRun {
  const manifest = manifestOf({ entity, file: { key: 'runs/leads.csv' }, warnings });
  return { report: report({ entity }), published: { manifest, start: Buffer.from(content) } };
}

/** A screen that is no terminal, and what was written to it. */
function recordingScreen() {
  const written: string[] = [];
  // The stream is no whole WriteStream, but has all that is used here.
  const stream = { write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  return { screen: createScreen(stream), text: () => written.join('') };
}

function shown(runs: FinishedRun[]): string {
  const { screen, text } = recordingScreen();
  showSummary(screen, runs, 'the-bucket');
  return text();
}

test('the summary shows every run, each warning once, the first lines of a file, and where readers start', () => {
  const ended = { status: 'FAILED', outcome: 'failed', error: 'ExportFailed', cause: 'Start the run again.' } as const;
  const lost = { key: null, manifestKey: null, bytes: null, rows: null };
  const text = shown([
    published('leads', 'id,name\r\n1,Dana\r\n', ['The first night.']),
    published('meetings', 'id\n', ['The first night.']),
    { report: report({ entity: 'contacts', ...ended, ...lost }) },
  ]);
  expect(text).toContain(
    [
      '  entity    outcome       checks  rows  bytes    key',
      '  leads     published     2       240   80.1 kB  runs/leads.csv',
      '  meetings  published     2       240   80.1 kB  runs/leads.csv',
      '  contacts  ExportFailed  2',
    ].join('\n'),
  );
  expect(text).toMatch(/^contacts: ExportFailed: Start the run again\.$/m);
  expect(text).toMatch(/^leads, meetings: The first night\.$/m);
  expect(text).toContain('The first lines of runs/leads.csv:\n  id,name');
  expect(text).toContain('s3://the-bucket/published/entity=leads/latest.json');
});

test('the summary prints no control characters of a file', () => {
  const nasty = '\ufeffid,\u001b[2J\u001b]0;title\u0007name\u009b31m\tx\r\n1,\u0000\u0008\u007fשלום\n';
  const text = shown([published('leads', nasty)]);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\ufeff]/u);
  expect(text).toContain('שלום');
});

const RUNNING = {
  cloud: { endpoint: 'http://127.0.0.1:4566' },
  crm: { baseUrl: 'http://127.0.0.1:4010/api/v1', authUrl: 'http://127.0.0.1:4010/auth' },
  target: { BucketName: 'bucket' },
};
const sandbox = { url: 'http://127.0.0.1:4010', clientId: 'a-client', clientSecret: 'made-up' };
const lines = endpointLines({ ...RUNNING, sandbox, updates: true });
const commands = lines.flatMap((line) => /^ {2}npx --no -- crm-export (.+)$/.exec(line)?.[1] ?? []);

test.each(commands)('--keep prints a command that can be parsed: %s', async (line) => {
  const [name = '', ...args] = line.split(' ');
  const program = await createProgram();
  let parsed = false;
  program.commands
    .find((each) => each.name() === name)
    ?.action(() => {
      parsed = true;
    });
  await program.parseAsync([name, ...args, '--deployment', 'local'], { from: 'user' });
  expect(parsed).toBe(true);
});

test('--keep prints a fault that the sandbox accepts, and its client, but not without the sandbox', () => {
  const [, url, fault = ''] = /curl (\S+) --json '(.+)'/.exec(lines.join('\n')) ?? [];
  expect(url).toBe('http://127.0.0.1:4010/_sandbox/faults');
  expect(faultSchema.safeParse(JSON.parse(fault)).error).toBeUndefined();
  expect(lines.filter((line) => /made-up|a-client/.test(line))).toEqual([
    expect.stringMatching(/^ {2}export .* CRM_CLIENT_SECRET=made-up$/),
    '  npx --no -- crm-export authorize --client-id a-client',
  ]);
  const other = endpointLines({ ...RUNNING, sandbox: undefined, updates: false }).join('\n');
  expect(other).not.toMatch(/_sandbox|crm-export update|CRM_CLIENT_SECRET|--client-id/);
});
