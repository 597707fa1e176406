import { expect, test } from 'vitest';
import { ENTITIES } from '../../../core/config/entities.ts';
import { clockAt } from '../../support/clock.ts';
import { expectResults } from '../../support/screen.ts';
import { type Answers, answerOf, bucketRefuses, type Handler, silent, xml } from '../support/cloud/answers.ts';
import { bucket } from '../support/cloud/bucket.ts';
import type { Call } from '../support/cloud/call.ts';
import { aws } from '../support/cloud/cloud.ts';
import { executions } from '../support/cloud/executions.ts';
import { publishTo } from '../support/cloud/publication.ts';
import { rules } from '../support/cloud/rules.ts';
import { configured, halfStack, machineOf, stack, stackMember } from '../support/cloud/stack.ts';
import { answersOf, newWorld, type Part } from '../support/cloud/world.ts';
import { runCli } from '../support/run-cli.ts';

const DATE = '2026-11-20';
/** The morning after the night. All nights begin at 01:00 UTC, and a run may take six hours. */
clockAt(`${DATE}T07:00:00Z`);
const USUAL = configured({
  nightly: { spreadMinutes: 0 },
  polling: { deadlineSeconds: 21_600, largestWaitSeconds: 300 },
});

/** A deployment of the account. Without its own parts, every entity is published for the night. */
interface Deployment {
  name: string;
  parts?: Part[];
  status?: string;
  alarms?: string[];
}

const stackOf = (name: string) => `crm-export-${name}`;
const topicOf = (name: string) => `arn:aws:sns:us-east-1:000000000000:${stackOf(name)}-topic`;

/** The newest files of all entities, of the night or, for leads, of another date. */
const published =
  (leads = DATE): Part =>
  (world) => {
    for (const entity of ENTITIES) {
      const date = entity === 'leads' ? leads : DATE;
      publishTo(world, { entity, date, execution: `${entity}-${date}` });
    }
    return {};
  };

/** `status` of an account with these deployments. The parts of each answer its calls; no call names only a prefix. */
async function statusIn(all: Deployment[], ...args: string[]) {
  const ofDeployments = new Map(all.map((one) => [one.name, answersIn(one)]));
  const ofOne: Handler = (call) => answerOf(call, ofDeployments.get(nameOf(call)) ?? []);
  const members = [
    stackMember('CDKToolkit', 'UPDATE_COMPLETE'),
    ...all.map(({ name, status = 'UPDATE_COMPLETE' }) => stackMember(stackOf(name), status)),
  ];
  const MetricAlarms = all.flatMap(({ name, alarms = [] }) =>
    alarms.map((alarm) => ({ AlarmName: `${stackOf(name)}-${alarm}`, AlarmActions: [topicOf(name)] })),
  );
  const { endpoint, calls } = await aws({
    ListStacks: ({ input }) => pageOf(members, Number(input.NextToken ?? 0)),
    DescribeAlarms: { MetricAlarms },
    ...{ DescribeStacks: ofOne, GetTemplate: ofOne, '*': ofOne },
  });
  return { calls, ...(await runCli('status', ...args, '--endpoint-url', endpoint)) };
}

function answersIn({ name, parts = [published()], status }: Deployment): Answers[] {
  const world = newWorld();
  const outputs = { StateMachineArn: machineOf(name), BucketName: stackOf(name), AlarmTopicArn: topicOf(name) };
  const usual = [stack(outputs, status), USUAL, executions([], { machine: machineOf(name) }), rules({}, name), bucket];
  return [...parts, ...usual].map((part) => answersOf(part, world));
}

/** The deployment of a call. Its stack, machine, executions, rules and bucket have the same name. */
function nameOf({ bucket, input: { StackName, stateMachineArn, executionArn, Name } }: Call): string {
  const asked = StackName ?? stateMachineArn ?? executionArn ?? Name ?? bucket;
  return NAME_IN.exec(String(asked))?.[1] ?? '';
}

const NAME_IN = new RegExp(`crm-export-(.+?)(-ExportRun.*|-(${ENTITIES.join('|')}))?$`);

const PAGE = 5;

function pageOf(members: string[], from: number) {
  const next = from + PAGE < members.length ? `<NextToken>${from + PAGE}</NextToken>` : '';
  const summaries = `<StackSummaries>${members.slice(from, from + PAGE).join('')}</StackSummaries>`;
  return xml(`<ListStacksResponse><ListStacksResult>${summaries}${next}</ListStacksResult></ListStacksResponse>`);
}

function leadsFailed(name: string): Part {
  const start = `${DATE}T01:00:00.000Z`;
  const failed = { status: 'FAILED', error: 'RateLimited', cause: 'It went wrong.', start, stop: start };
  return executions([{ name: 'leads-night', input: { entity: 'leads' }, ...failed }], { machine: machineOf(name) });
}

const GONE: Deployment = { name: 'gone', status: 'DELETE_COMPLETE' };

/** A good deployment, and one with each kind of fault. Two names have the same prefix. */
const ACCOUNT: Deployment[] = [
  { name: 'agency' },
  { name: 'failed', parts: [published('2026-11-19'), leadsFailed('failed')] },
  { name: 'failed-too', alarms: ['FileQuarantined'] },
  { name: 'half', parts: [halfStack()] },
  { name: 'denied', parts: [published(), bucketRefuses('AccessDenied', 403)] },
  GONE,
  {
    name: 'paused',
    parts: [published('2026-11-11'), rules({ paused: ['leads'] }, 'paused')],
    alarms: ['ExecutionsAborted'],
  },
];

test('prints one line for each deployment, worst first, with a reason for each unknown one', async () => {
  const many = await statusIn(ACCOUNT, '--all-deployments');
  const none = await statusIn([GONE], '--all-deployments');
  const unanswering = { name: 'silent', parts: [{ DescribeStacks: silent, '*': silent }] };
  const one = await statusIn([unanswering], '--deployment', 'silent', '--call-timeout', '1');

  expect([many, none, one].map(({ code }) => code)).toEqual([1, 3, 3]);
  await expectResults('all-deployments', [
    ['one of each kind', many],
    ['none', none],
    ['one that does not answer', one],
  ]);
});

test('--json has the status of each deployment and why one is unknown, even if their names begin alike', async () => {
  const { code, stdout, calls } = await statusIn(
    [
      { name: 'prod' },
      { name: 'prod-2', parts: [published('2026-11-19'), rules({ paused: ['leads'] }, 'prod-2')], alarms: ['A'] },
      { name: 'prod-3', status: 'UPDATE_ROLLBACK_FAILED' },
      { name: 'prod-4', parts: [rules({ gone: ['leads'] }, 'prod-4')] },
      { name: 'prod-5', parts: [halfStack()] },
    ],
    '--all-deployments',
    '--json',
  );

  expect(code).toBe(1);
  const { ok, deployments } = JSON.parse(stdout);
  expect(ok).toBe(false);
  expect(deployments).toMatchObject([
    { deployment: 'prod', why: null, ok: true, night: null, alarms: [], warnings: [expect.any(String)] },
    { deployment: 'prod-2', why: null, ok: false, alarms: ['A'] },
    { deployment: 'prod-3', ok: true, warnings: expect.arrayContaining([expect.stringContaining('ROLLBACK_FAILED')]) },
    { deployment: 'prod-4', ok: false },
    { deployment: 'prod-5', why: expect.any(String) },
  ]);
  const rulesOf = ({ entities = [] }: { entities?: { rule: string }[] }) => new Set(entities.map(({ rule }) => rule));
  expect(deployments.slice(0, 4).map(rulesOf)).toEqual([
    new Set(['on']),
    new Set(['paused', 'on']),
    new Set(['on']),
    new Set(['withoutRule', 'on']),
  ]);
  expect(calls.map(({ operation }) => operation)).not.toContain('ListRules');
});
