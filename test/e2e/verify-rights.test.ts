import { CloudFormationClient, CreateStackCommand, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { ListRulesCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import { DeleteBucketPolicyCommand, GetBucketPolicyCommand, PutBucketPolicyCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ALL_CHECKS, verify } from '../../cli/health/verify.ts';
import { connect, lazyClients, type Target } from '../../cli/support/target.ts';
import { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { LOCAL_REGION } from '../../local/ministack/ministack-environment.ts';
import { waitUntil } from '../../local/processes/wait-until.ts';
import { synthesise } from '../../scripts/synthesise.ts';
import { createUser, startEnforcingCloud } from './support/enforcing-cloud.ts';

/**
 * Tests `verify` in its own local cloud that enforces policies, with the product's bucket and users with few rights.
 */

let cloud: Awaited<ReturnType<typeof startEnforcingCloud>>;
let endpoint: string;
let target: Target;

const ROOT = { accessKeyId: '000000000000', secretAccessKey: 'local' };
const MACHINE = `arn:aws:states:${LOCAL_REGION}:000000000000:stateMachine:crm-export-rights-ExportRun`;
const LEADS = 'crm-export-rights-leads';
const COPIED = [
  'AWS::KMS::Key',
  'AWS::S3::Bucket',
  'AWS::S3::BucketPolicy',
  'AWS::DynamoDB::GlobalTable',
  'AWS::SNS::Topic',
];

/** The deployed key, buckets, bucket policies without statements for roles, ledger and topic. */
function smallTemplate(): string {
  const { Metadata, Resources } = synthesise();
  const all = Object.entries(Resources).filter(([, { Type }]) => COPIED.includes(Type));
  for (const [, { Properties }] of all) {
    const policy = Properties?.PolicyDocument;
    if (policy) policy.Statement = policy.Statement.filter(({ Effect }: { Effect: string }) => Effect === 'Deny');
  }
  const idOf = (type: string, start = '') =>
    all.find(([id, one]) => one.Type === type && id.startsWith(start))?.[0] ?? '';
  const outputs = {
    StateMachineArn: MACHINE,
    ClientSecretId: 'client',
    TokensSecretId: 'tokens',
    DashboardName: 'crm-export-rights',
    BucketName: { Ref: idOf('AWS::S3::Bucket', 'ExportsBucket') },
    LedgerTableName: { Ref: idOf('AWS::DynamoDB::GlobalTable') },
    AlarmTopicArn: { Ref: idOf('AWS::SNS::Topic') },
    UndeliveredStartsUrl: `${endpoint}/000000000000/undelivered`,
    SoftwareVersion: '0.2.0',
    TimeZone: 'UTC',
  };
  const Outputs = Object.fromEntries(Object.entries(outputs).map(([name, Value]) => [name, { Value }]));
  const rule = {
    Type: 'AWS::Events::Rule',
    Properties: { Name: LEADS, ScheduleExpression: 'rate(1 day)', State: 'DISABLED' },
  };
  return JSON.stringify({ Metadata, Resources: { ...Object.fromEntries(all), Rule: rule }, Outputs });
}

beforeAll(async () => {
  cloud = await startEnforcingCloud();
  endpoint = cloud.endpoint;
  const cloudformation = new CloudFormationClient({ endpoint, region: LOCAL_REGION, credentials: ROOT });
  await cloudformation.send(new CreateStackCommand({ StackName: 'crm-export-rights', TemplateBody: smallTemplate() }));
  const created = async () => {
    const { Stacks: [stack] = [] } = await cloudformation.send(
      new DescribeStacksCommand({ StackName: 'crm-export-rights' }),
    );
    return !stack?.StackStatus?.endsWith('_IN_PROGRESS');
  };
  await waitUntil(created, { withinMs: 30_000, everyMs: 100 });
  target = await connect({ deployment: 'rights', endpointUrl: endpoint });
});
afterAll(() => cloud?.close());

/** The deployment as a user with these rights sees it. */
async function seenBy(UserName: string, Action: string[]): Promise<Target> {
  const Statement = [{ Effect: 'Allow', Action, Resource: '*' }];
  const credentials = await createUser(endpoint, ROOT.accessKeyId, UserName, { Version: '2012-10-17', Statement });
  const { stack, stackStatus, downloadLogGroup } = target;
  const outputs = Object.fromEntries(Object.entries(target).filter(([, value]) => typeof value === 'string'));
  const settings = { ...AWS_LIMITS, endpoint, region: LOCAL_REGION, maxAttempts: 1, credentials };
  const clients = lazyClients(settings);
  // All texts of a target are outputs; its clients are those of the user.
  return Object.assign(clients, outputs as unknown as Target, { stack, stackStatus, downloadLogGroup });
}

const pace = { everyMs: 10, patienceMs: 100, runMs: 1000 };
const READING = ['cloudformation:DescribeStacks', 'cloudformation:GetTemplate', 'cloudformation:ListStackResources'];

/** Runs verify as a user with these rights. */
async function verifiedBy(user: string, actions: string[], ids = ALL_CHECKS.map(({ id }) => id)) {
  const { signal } = new AbortController();
  const checks = ALL_CHECKS.filter(({ id }) => ids.includes(id));
  return verify(await seenBy(user, actions), { entity: 'leads', signal, pace, alarm: true, checks });
}

test('each check names its missing right, and verify creates nothing', async () => {
  const { checks, runs } = await verifiedBy('reader', READING);

  expect(runs).toEqual([]);
  // The policy refuses these whatever other rights there are.
  const held = checks.filter(({ verdict }) => verdict !== 'unknown').map(({ id, verdict }) => `${id} ${verdict}`);
  expect(held).toEqual(['plain-http holds', 'foreign-key holds']);
  const found = Object.fromEntries(checks.map((check) => [check.id, check.found]));
  const lacking = (right: string) => `these credentials lack the right ${right}`;
  expect(found).toMatchObject({
    export: lacking('states:StartExecution'),
    'rule-start': lacking('events:ListTargetsByRule'),
    rules: lacking('events:DescribeRule'),
    'grant-stored': lacking('secretsmanager:GetSecretValue'),
    'left-overs': expect.stringContaining(lacking('events:ListRules')),
  });
});

test('the bucket policy refuses a PUT by plain http or with another key, and without it the checks fail', async () => {
  const may = [...READING, 's3:*'];
  const ids = ['plain-http', 'foreign-key'];
  const { checks: refused } = await verifiedBy('storing', may, ids);
  expect(refused.slice(0, 2)).toMatchObject([
    { verdict: 'holds', found: 'AccessDenied by the policy of the bucket: by plain http' },
    { verdict: 'holds' },
  ]);

  const Bucket = target.BucketName;
  const { Policy = '' } = await target.s3.send(new GetBucketPolicyCommand({ Bucket }));
  const { Statement, ...policy } = JSON.parse(Policy);
  const ofHttp = ({ Condition }: { Condition: object }) => /SecureTransport|TlsVersion/.test(JSON.stringify(Condition));
  const withoutHttp = Statement.filter((statement: { Condition: object }) => !ofHttp(statement));
  const changed = JSON.stringify({ ...policy, Statement: withoutHttp });
  await target.s3.send(new PutBucketPolicyCommand({ Bucket, Policy: changed }));
  // All requests here use plain http, which this change allows: now only the policy on keys decides.
  const { checks: mended } = await verifiedBy('storing-more', may, ids);
  expect(mended.slice(0, 2)).toMatchObject([
    { verdict: 'broken', found: 'stored by plain http' },
    { verdict: 'holds', found: 'AccessDenied by the policy of the bucket: with the key aws/s3, by AES256' },
  ]);

  await target.s3.send(new DeleteBucketPolicyCommand({ Bucket }));
  const { checks: open } = await verifiedBy('storing-all', may, ids);
  expect(open[1]).toMatchObject({ verdict: 'broken', found: 'stored with the key aws/s3; stored by AES256' });
});

test('creates no rule that fires every minute without the right to remove it', async () => {
  const stack = 'crm-export-rights';
  const RoleArn = 'arn:aws:iam::000000000000:role/rules';
  await target.events.send(new PutTargetsCommand({ Rule: LEADS, Targets: [{ Id: 'a', Arn: MACHINE, RoleArn }] }));
  const may = [
    'events:DescribeRule',
    'events:ListTargetsByRule',
    'events:PutRule',
    'events:PutTargets',
    'iam:PassRole',
  ];
  const { checks } = await verifiedBy('making', [...READING, ...may], ['rule-start']);

  expect(checks[0]).toMatchObject({
    id: 'rule-start',
    verdict: 'unknown',
    found: 'these credentials lack the right events:RemoveTargets',
  });
  const { Rules = [] } = await target.events.send(new ListRulesCommand({ NamePrefix: `${stack}_` }));
  expect(Rules).toEqual([]);
});
