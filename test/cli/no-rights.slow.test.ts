import { beforeEach, expect, test, vi } from 'vitest';
import { ALL_CHECKS } from '../../cli/health/verify.ts';
import type { CommandName } from '../../cli/program.ts';
import { stoppedBy } from '../support/manifests.ts';
import { tempDir } from '../support/project.ts';
import { type Answers, refused, xml } from './support/cloud/answers.ts';
import { aws } from './support/cloud/cloud.ts';
import { execution, executions } from './support/cloud/executions.ts';
import { grant, storedTokens } from './support/cloud/grant.ts';
import { configured, stack, UPDATES_MACHINE } from './support/cloud/stack.ts';
import { subscriptions } from './support/cloud/subscriptions.ts';
import { updatingCloud } from './support/cloud/updates.ts';
import { stored } from './support/leads-night.ts';
import { fileOf, jsonl, people } from './support/sent-batch.ts';

/** A person lacks one right: each command names it, whichever call AWS refuses. */

const NIGHT = 'leads-night';
const AT = '2026-11-20T02:00:00.000Z';
const failed = execution(NIGHT, {
  ...{ status: 'FAILED', error: 'FileQuarantined', cause: 'It shrank.' },
  ...{ start: AT, stop: AT, entered: [['PublishFile', AT, stored]] },
});
const running = execution('contacts-now', { status: 'RUNNING', input: { entity: 'contacts' }, start: AT });
const READER = '444455556666';
const KEY = '<member><ResourceType>AWS::KMS::Key</ResourceType><PhysicalResourceId>1</PhysicalResourceId></member>';

const tokens = storedTokens({ scope: 'global:export', obtainedAt: AT, functionStoredAt: AT });

/** A deployment in which every command does its work, until AWS refuses a call. */
const WHOLE: Answers = {
  ListStackResources: xml(
    `<r><ListStackResourcesResult><StackResourceSummaries>${KEY}</StackResourceSummaries></ListStackResourcesResult></r>`,
  ),
  FilterLogEvents: { events: [] },
  StopExecution: {},
  PutObjectTagging: xml(''),
  ...grant({ client: '{"clientId":"c","clientSecret":"s"}', tokens }),
  DisableRule: {},
  EnableRule: {},
  DescribeAlarms: { MetricAlarms: [] },
  ListSubscriptionsByTopic: subscriptions([]),
};

/** Refuses an operation without naming the right: many services do not. */
const refusing = (operation: string): Answers => ({
  [operation]: (call) => {
    const inXml = call.service === 's3' || 'Action' in call.input;
    return refused(inXml ? 'AccessDenied' : 'AccessDeniedException', 'Access Denied', { status: inXml ? 403 : 400 });
  },
});

async function cloud(...parts: Answers[]) {
  const readers = [{ principal: READER, entities: 'all' as const, of: ['tables' as const, 'files' as const] }];
  const settings = configured({
    readers,
    alarms: { email: ['operator@example.com'], runbookUrl: 'https://example.com' },
    entities: { leads: { tables: {}, changes: { key: 'id' } } },
  });
  const found = await aws(
    ...parts,
    WHOLE,
    settings,
    stack({ UpdatesStateMachineArn: UPDATES_MACHINE }),
    executions([failed, running]),
  );
  for (const date of ['2026-11-19', '2026-11-20']) found.publish({ date, execution: `leads-${date}` });
  found.publish({ manifest: stoppedBy('maxShrink'), pointers: [] });
  found.objects.set('tables/entity=leads/date=2026-11-20/leads.parquet', Buffer.from('PAR1'));
  return found;
}

/** Command lines; together they make every kind of call. */
const CALLS: [CommandName, ...string[]][] = [
  ['status'],
  ['report', '-o', '-'],
  ['start', 'leads'],
  ['follow', 'leads'],
  ['list'],
  ['list', '--running'],
  ['show', 'leads'],
  ['logs', 'leads'],
  ['download', 'leads', '--force'],
  ['download', '--all', '--date', '2026-11-19', '-o', '/nonexistent'],
  ['peek', 'leads'],
  ['diff', 'leads', '--run', NIGHT],
  ['retry', 'leads'],
  ['backfill', 'leads', '--from', '2026-11-18', '--to', '2026-11-19', '--same-data', '--dry-run'],
  ['release', NIGHT, '--reason', 'Holidays'],
  ['table', 'leads'],
  ['table', 'leads', '--outdated', '--dry-run'],
  ['changes', 'leads'],
  ['readers', READER],
  ['readers', '--tag'],
  ['stop', 'contacts', '--yes'],
  ['plan', 'leads'],
  ['pause', 'leads'],
  ['resume', 'leads'],
  ['doctor', '--refresh'],
  ['update-status'],
];
/** Commands that also answer without a right, and say what they do not know. */
const GO_ON = ['status', 'report', 'follow', 'list', 'show', 'plan', 'doctor'];

beforeEach(async () => {
  const folder = await tempDir();
  vi.spyOn(process, 'cwd').mockReturnValue(folder);
});

/** Rights with other names than their calls. */
const NAMES: Record<string, string> = { ListObjectsV2: 's3:ListBucket', HeadObject: 's3:GetObject' };

test.each(CALLS.map((args) => ({ args, line: args.join(' ') })))('$line names the missing right', async ({ args }) => {
  const whole = await cloud();
  await whole.cli(...args);

  const unnamed: string[] = [];
  for (const operation of new Set(['DescribeStacks', ...whole.calls.map((call) => call.operation)])) {
    const { code, shown } = await (await cloud(refusing(operation))).cli(...args);
    const isNamed = shown.includes(NAMES[operation] ?? `:${operation}`);
    if (!isNamed || !(code === 3 || GO_ON.includes(args[0]))) unnamed.push(`${operation} ${code}`);
  }
  // The end of a run is shown even to users who may not read the bucket, and a plan needs no deployment.
  expect(unnamed).toEqual({ follow: ['GetObject 1'], plan: ['DescribeStacks 2'] }[args[0] as string] ?? []);
});

test('probe names the right to read the grant', async () => {
  const { code, stderr } = await (await cloud(refusing('GetSecretValue'))).cli('probe');

  expect(code).toBe(3);
  expect(stderr).toContain('secretsmanager:GetSecretValue');
});

test.each(['GetSecretValue', 'PutSecretValue', 'GetItem', 'UpdateItem'])(
  'authorize asks nobody to consent without the right to %s',
  async (operation) => {
    const { cli } = await cloud(refusing(operation));
    const { code, stdout, stderr } = await cli('authorize', '--client-id', 'c', '--no-browser');

    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    // No address to open.
    expect(stderr).not.toContain('client_id=');
  },
);

test('verify without any right names the rights of each check, and proves nothing', async () => {
  const { cli } = await aws(refusing('*'), stack());
  const { code, stdout } = await cli('verify', '--alarm');

  expect(code).toBe(1);
  for (const { id } of ALL_CHECKS) expect(stdout).toMatch(new RegExp(`^. ${id}: .* [a-z0-9-]+:[A-Z]\\w+`, 'm'));
});

test.each(['PutObject', 'ListObjectsV2', 'GetObject', 'StartExecution', 'DescribeExecution'])(
  'update names the right to %s',
  async (operation) => {
    const { cli } = await updatingCloud({}, refusing(operation));
    const sent = await cli('update', await fileOf(jsonl(people(2))), '--yes');

    expect(sent).toMatchObject({ code: 3, stderr: expect.stringContaining(NAMES[operation] ?? `:${operation}`) });
  },
);
