import { expect, test } from 'vitest';
import type { Run } from '../../cli/runs/run.ts';
import { CRM_EXPORT } from '../../core/commands.ts';
import type { Entity } from '../../core/config/entities.ts';
import { endpointLines, type FinishedRun, showSummary } from '../../local/nights.ts';
import { createScreen } from '../../local/screen.ts';
import type { Session } from '../../local/session.ts';
import { faultSchema } from '../../sandbox/faults.ts';
import { aRun } from '../cli/support/a-run.ts';
import { isAccepted } from '../cli/support/is-accepted.ts';
import { manifestOf } from '../support/manifests.ts';
import { written } from '../support/written.ts';

const report = (more: Partial<Run> = {}): Run =>
  aRun({ key: 'runs/leads.csv', bytes: 80_073, rows: 240, checks: 2, ...more });

function published(entity: Entity, warnings: string[] = []): FinishedRun {
  const manifest = manifestOf({ entity, file: { key: 'runs/leads.csv' }, warnings });
  return { report: report({ entity }), published: manifest };
}

async function shown(runs: FinishedRun[]): Promise<string> {
  const { text } = await written(() => showSummary(createScreen(process.stdout), runs));
  return text;
}

test('the summary shows every run, and each warning once', async () => {
  const ended = { status: 'FAILED', outcome: 'failed', error: 'ExportFailed', cause: 'Start the run again.' } as const;
  const lost = { key: null, manifestKey: null, bytes: null, rows: null };
  const text = await shown([
    published('leads', ['The first night.']),
    published('meetings', ['The first night.']),
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
  expect(text).toMatch(/^contacts: ExportFailed: Start .*\.$/m);
  expect(text).toMatch(/^leads, meetings: The first night\.$/m);
});

const sandbox = { url: 'http://127.0.0.1:4010', clientId: 'a-client', clientSecret: 'made-up' };
/** The parts of a session that the lines name. The other parts are running servers, hence the cast. */
const session = {
  cloud: { endpoint: 'http://127.0.0.1:4566' },
  crm: { baseUrl: 'http://127.0.0.1:4010/api/v1', authUrl: 'http://127.0.0.1:4010/auth' },
  target: { BucketName: 'bucket' },
  sandbox,
} as unknown as Session;
const lines = endpointLines(session);
const commands = lines.flatMap((line) => /^ {2}npx --no -- crm-export (.+)$/.exec(line)?.[1] ?? []);

test.each(commands)('--keep prints a command that can be parsed: %s', async (line) => {
  expect(await isAccepted([...line.split(' '), '--deployment', 'local'])).toBe(true);
});

test('--keep prints a fault that the sandbox accepts, and its client, but not without the sandbox', () => {
  const [, url, fault = ''] = /curl (\S+) --json '(.+)'/.exec(lines.join('\n')) ?? [];
  expect(url).toBe('http://127.0.0.1:4010/_sandbox/faults');
  expect(faultSchema.safeParse(JSON.parse(fault)).error).toBeUndefined();
  expect(lines.filter((line) => /made-up|a-client/.test(line))).toEqual([
    expect.stringMatching(/^ {2}export .* CRM_CLIENT_SECRET=made-up$/),
    `  ${CRM_EXPORT} authorize --client-id a-client`,
  ]);
  const other = endpointLines({ ...session, sandbox: undefined }).join('\n');
  expect(other).not.toMatch(/_sandbox|crm-export update|CRM_CLIENT_SECRET|--client-id/);
});
