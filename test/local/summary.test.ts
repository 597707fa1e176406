import { expect, test } from 'vitest';
import { LOADERS } from '../../cli/loaders.ts';
import { createProgram } from '../../cli/program.ts';
import type { NamedRun } from '../../cli/runs/run.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import type { FinishedRun } from '../../local/runs.ts';
import { createScreen } from '../../local/screen.ts';
import { endpointLines, showSummary } from '../../local/summary.ts';
import { faultSchema } from '../../sandbox/faults.ts';
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

const RUNNING = {
  cloud: { endpoint: 'http://127.0.0.1:4566' },
  crm: { url: 'http://127.0.0.1:4010/api/v1', authUrl: 'http://127.0.0.1:4010/auth' },
  target: { StateMachineArn: 'arn:aws:states:x', BucketName: 'bucket' },
  configurationFile: '/cache/local.json',
};

const withSandbox = endpointLines({ ...RUNNING, sandbox: { url: 'http://127.0.0.1:4010' }, updates: true }, []);
const commands = withSandbox.flatMap((line) => /^ {2}npx --no -- crm-export (.+)$/.exec(line)?.[1] ?? []);

test.each(commands)('the command knows: %s', async (line) => {
  const [name = '', ...args] = line.split(' ');
  const program = await createProgram(LOADERS);
  let parsed = false;
  program.commands
    .find((each) => each.name() === name)
    ?.action(() => {
      parsed = true;
    });
  await program.parseAsync([name, ...args], { from: 'user' });
  expect(parsed).toBe(true);
});

test.each(['doctor', 'probe'])('%s, which reads a configuration, is given the one that is deployed', (name) => {
  const found = commands.find((command) => command.startsWith(`${name} `));
  expect(found).toContain(`--configuration ${RUNNING.configurationFile}`);
});

test('how to make a fault, and to end it, is printed for the sandbox only', () => {
  const [, url, fault = ''] = /curl (\S+) --json '(.+)'/.exec(withSandbox.join('\n')) ?? [];
  expect(url).toBe('http://127.0.0.1:4010/_sandbox/faults');
  expect(faultSchema.safeParse(JSON.parse(fault)).error).toBeUndefined();
  expect(withSandbox.join('\n')).toContain('curl -X DELETE http://127.0.0.1:4010/_sandbox/faults');
  expect(endpointLines({ ...RUNNING, sandbox: undefined, updates: false }, []).join('\n')).not.toMatch(
    /_sandbox|cli -- update/,
  );
});
