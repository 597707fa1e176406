import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { CloudFormationClient, DeleteStackCommand } from '@aws-sdk/client-cloudformation';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { cdkDeploy } from '../../local/cdk.ts';
import { LOCAL_REGION } from '../../local/ministack/ministack-environment.ts';
import { openRunRecord } from '../../local/processes/run-record.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { approveConsent } from '../../sandbox/approve.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { useAllCommands } from '../cli/support/all-commands.ts';
import { startCli } from '../cli/support/run-cli.ts';
import { asPrinted } from './support/as-printed.ts';
import { synthesise } from './support/deployed.ts';

useAllCommands();

/** The first day of a deployment as a person has it: `vitest run --project e2e -u test/e2e/first-day.test.ts` writes the document. */

const ROOT = join(import.meta.dirname, '../..');
const NAME = 'agency';
const COMMAND = 'npx --no -- crm-export';
const DEPLOY = `npx cdk deploy -c deployment=${NAME}`;

const BEGIN = `# The first day

What each command prints on the first day of a deployment, made by a test in the local cloud with a CRM that has three leads. Names,
dates and durations are replaced by others. In an account it is the same, but for the times of AWS.
`;

/** What a document says before a command, and the command. */
const STEPS: [says: string, command: string][] = [
  [
    'Without options, `init` asks for each of these, and shows the default.',
    'init --deployment agency --crm-url https://crm.example/api/v1 --auth-url https://crm.example --email operator@agency.example',
  ],
  [
    'What does this CRM do where its interface document leaves it open? Nothing is deployed yet. The secret of the client is in `CRM_CLIENT_SECRET`.',
    'probe --configuration config/agency.json --client-id agency-exports --no-browser --yes',
  ],
  ['What CDK prints is left out here.', DEPLOY],
  [
    'The first run does not have to wait for the night: it shows that the functions can refresh the grant, while somebody can consent again.',
    'authorize --deployment agency --client-id agency-exports --no-browser --run leads',
  ],
  ['Would a night work?', 'doctor --deployment agency'],
  ['Every morning:', 'status --deployment agency'],
];

/**
 * A zone whose clocks show about noon, and a start an hour ago: no rule starts anything for 23 hours, and today's start has passed for so
 * long that its runs would be listed. In UTC that cannot be at every hour.
 */
function anHourAgo(): { zone: string; at: string } {
  const now = new Date();
  const hour = now.getUTCHours();
  // Never UTC itself, of which doctor has a check less.
  const ahead = 12 - hour || 1;
  const minutes = String(now.getUTCMinutes()).padStart(2, '0');
  // The names of these zones count the other way.
  return { zone: `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`, at: `${hour + ahead - 1}:${minutes}` };
}

test('the first day is as the document tells it', async () => {
  const cloud = inject('cloud');
  const { zone, at } = anHourAgo();
  const record = await openRunRecord(join(ROOT, '.cache'));
  const sandbox = await startSandbox({ rows: 3, jobChecks: 1, clientId: 'agency-exports' });
  onTestFinished(async () => {
    await sandbox.close();
    const client = new CloudFormationClient({
      endpoint: cloud.endpoint,
      region: LOCAL_REGION,
      credentials: { accessKeyId: '000000000000', secretAccessKey: 'local' },
    });
    await client.send(new DeleteStackCommand({ StackName: `crm-export-${NAME}` }));
    await record.close();
  });
  const file = join(await mkdtemp(join(record.workDir, 'config-')), `${NAME}.json`);
  const place = ['--region', LOCAL_REGION, '--endpoint-url', cloud.endpoint];
  const outputDir = await mkdtemp(join(record.workDir, 'cdk.out-'));

  /** @returns what a command prints on both streams */
  async function printed(command: string): Promise<string> {
    if (command === DEPLOY) {
      await synthesise(NAME, file, outputDir, cloud);
      await cdkDeploy({ record, env: cloud.env, logFile: join(record.workDir, 'cdk.log'), outputDir });
      return '[…]';
    }
    const typed = command
      .replace('https://crm.example/api/v1', sandbox.baseUrl)
      .replace('https://crm.example', sandbox.authUrl)
      .replace('config/agency.json', file);
    const hidden = {
      init: ['--configuration', file, '--time-zone', zone, '--at', at],
      doctor: ['--configuration', file],
    };
    const more = Object.entries(hidden).find(([name]) => command.startsWith(name))?.[1] ?? [];
    const running = startCli(...typed.split(' '), ...more, ...place);
    vi.stubEnv('CRM_CLIENT_SECRET', sandbox.clientSecret);
    if (command.includes('--client-id')) {
      const url = () => /^Open: (\S+)$/m.exec(running.soFar.shown)?.[1];
      expect(await waitUntil(() => url() !== undefined, { withinMs: 30_000 })).toBe(true);
      await approveConsent(url() ?? '');
    }
    const { shown, code } = await running.ended;
    expect(code, shown).toBe(0);
    return asPrinted(shown, [
      [zone, 'UTC'],
      [sandbox.baseUrl, 'https://crm.example/api/v1'],
      [sandbox.authUrl, 'https://crm.example'],
      [new URL(sandbox.baseUrl).host, 'crm.example'],
      ['Files come from this machine', 'Files come from files.crm.example'],
      [file, 'config/agency.json'],
    ]);
  }

  let document = BEGIN;
  for (const [says, command] of STEPS) {
    const line = command === DEPLOY ? command : `${COMMAND} ${command}`;
    document += `${says ? `\n${says}\n` : ''}\n\`\`\`text\n$ ${line}\n${await printed(command)}\n\`\`\`\n`;
  }
  await expect(document).toMatchFileSnapshot('../../docs/first-day.md');
});
