import { expect, test } from 'vitest';
import { checked } from '../../../cli/checks/check.ts';
import type { Verifying } from '../../../cli/verify/base/verifying.ts';
import { DRIFT_CHECK } from '../../../cli/verify/checks/drift-check.ts';
import { type Answers, refused, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

/** What CloudFormation says of a stack, as AWS documents it and as users report it. */

interface Difference {
  path: string;
  expected: string;
  actual?: string;
  how?: 'ADD' | 'REMOVE' | 'NOT_EQUAL';
}
interface Drifted {
  id: string;
  type: string;
  physicalId?: string;
  status?: 'MODIFIED' | 'DELETED';
  differences?: Difference[];
  /** All properties, as JSON. */
  expected?: string;
  actual?: string;
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

function differenceOf({ path, expected, actual = 'null', how = 'NOT_EQUAL' }: Difference): string {
  return `<member><PropertyPath>${path}</PropertyPath><ExpectedValue>${escaped(expected)}</ExpectedValue><ActualValue>${escaped(actual)}</ActualValue><DifferenceType>${how}</DifferenceType></member>`;
}

function driftOf({ id, type, physicalId = id, status = 'MODIFIED', differences = [], ...all }: Drifted): string {
  const { expected = '{}', actual = '{}' } = all;
  const whole = `<ExpectedProperties>${escaped(expected)}</ExpectedProperties><ActualProperties>${escaped(actual)}</ActualProperties>`;
  const properties = `<PropertyDifferences>${differences.map(differenceOf).join('')}</PropertyDifferences>`;
  return `<member><LogicalResourceId>${id}</LogicalResourceId><PhysicalResourceId>${physicalId}</PhysicalResourceId><ResourceType>${type}</ResourceType><StackResourceDriftStatus>${status}</StackResourceDriftStatus>${whole}${properties}</member>`;
}

/** The finding where CloudFormation reports these. */
async function found(drifts: Drifted[], answers: Answers = {}) {
  const result = (operation: string, body: string) =>
    xml(`<${operation}Response><${operation}Result>${body}</${operation}Result></${operation}Response>`);
  const status = drifts.length > 0 ? 'DRIFTED' : 'IN_SYNC';
  const { target } = await aws({
    DetectStackDrift: result('DetectStackDrift', '<StackDriftDetectionId>1</StackDriftDetectionId>'),
    DescribeStackDriftDetectionStatus: result(
      'DescribeStackDriftDetectionStatus',
      `<DetectionStatus>DETECTION_COMPLETE</DetectionStatus><StackDriftStatus>${status}</StackDriftStatus>`,
    ),
    DescribeStackResourceDrifts: result(
      'DescribeStackResourceDrifts',
      `<StackResourceDrifts>${drifts.map(driftOf).join('')}</StackResourceDrifts>`,
    ),
    ...answers,
  });
  const pace = { everyMs: 10, patienceMs: 100, runMs: 0 };
  const verifying = { target, pace, signal: new AbortController().signal } as Verifying;
  const [one] = await checked(DRIFT_CHECK, verifying, { deployment: 'prod' });
  return one;
}

const KEY = '1b2c3d4e-0000-4000-8000-000000000000';
const QUEUE = 'arn:aws:sqs:us-east-1:000000000000:undelivered';
const LEDGER: Drifted = {
  id: 'Ledger',
  type: 'AWS::DynamoDB::GlobalTable',
  differences: [
    {
      path: '/Replicas/0/SSESpecification/KMSMasterKeyId',
      expected: KEY,
      actual: `arn:aws:kms:us-east-1:000000000000:key/${KEY}`,
    },
  ],
};
const BUCKET: Drifted = {
  id: 'Bucket',
  physicalId: 'bucket',
  type: 'AWS::S3::Bucket',
  differences: [
    {
      path: '/NotificationConfiguration',
      expected: '{"EventBridgeConfiguration":{"EventBridgeEnabled":true}}',
      how: 'REMOVE',
    },
  ],
};
const RULE: Drifted = {
  id: 'Leads',
  physicalId: 'crm-export-prod-leads',
  type: 'AWS::Events::Rule',
  differences: [{ path: '/Targets/0/DeadLetterConfig', expected: `{"Arn":"${QUEUE}"}`, how: 'REMOVE' }],
};
/** Both are in the account as in the template. */
const AS_DEPLOYED: Answers = {
  s3: xml('<NotificationConfiguration><EventBridgeConfiguration/></NotificationConfiguration>'),
  ListTargetsByRule: { Targets: [{ Id: 'Target0', Arn: 'arn', DeadLetterConfig: { Arn: QUEUE } }] },
};

test('a fresh stack holds, although CloudFormation reports it as drifted: each difference is known to be none', async () => {
  expect(await found([LEDGER, BUCKET, RULE], AS_DEPLOYED)).toMatchObject({
    verdict: 'holds',
    found:
      'CloudFormation finds nothing that was changed by hand; it reports 3 differences that are none: KMSMasterKeyId of Ledger, NotificationConfiguration of Bucket, DeadLetterConfig of Leads',
  });
  expect(await found([])).toMatchObject({
    verdict: 'holds',
    found: 'CloudFormation finds nothing that was changed by hand',
  });
});

test('what the account really lacks is a difference, although CloudFormation reports it always', async () => {
  const lacking = {
    s3: xml('<NotificationConfiguration/>'),
    ListTargetsByRule: { Targets: [{ Id: 'a', Arn: 'arn' }] },
  };

  expect(await found([BUCKET, RULE], lacking)).toMatchObject({
    verdict: 'broken',
    found:
      'Bucket is MODIFIED: NotificationConfiguration is missing, in the template {"EventBridgeConfiguration":{"EventBridgeEnabled":true}}; ' +
      `Leads is MODIFIED: Targets/0/DeadLetterConfig is missing, in the template {"Arn":"${QUEUE}"}`,
    advice: expect.stringContaining('npx cdk deploy -c deployment=prod --revert-drift'),
  });
});

/** A function in two subnets, as its network is answered. */
function inSubnets(...answered: string[]): Drifted {
  const properties = (SubnetIds: string[]) => JSON.stringify({ VpcConfig: { SubnetIds, SecurityGroupIds: ['sg-1'] } });
  const template = ['subnet-a', 'subnet-b'];
  const differences = template.flatMap((expected, index) =>
    answered[index] === expected
      ? []
      : [{ path: `/VpcConfig/SubnetIds/${index}`, expected, actual: answered[index] ?? 'null' }],
  );
  const type = 'AWS::Lambda::Function';
  return { id: 'F', type, differences, expected: properties(template), actual: properties(answered) };
}

test('a network is the same in any order, and another where a subnet is another', async () => {
  expect(await found([inSubnets('subnet-b', 'subnet-a')])).toMatchObject({ verdict: 'holds' });
  expect(await found([inSubnets('subnet-b', 'subnet-c')])).toMatchObject({ verdict: 'broken' });
  expect(await found([inSubnets('subnet-b')])).toMatchObject({ verdict: 'broken' });
});

test('another key of the ledger is a difference', async () => {
  const other = [{ path: '/Replicas/0/SSESpecification/KMSMasterKeyId', expected: KEY, actual: 'alias/aws/dynamodb' }];

  expect(await found([{ ...LEDGER, differences: other }])).toMatchObject({
    verdict: 'broken',
    found: `Ledger is MODIFIED: Replicas/0/SSESpecification/KMSMasterKeyId is alias/aws/dynamodb, in the template ${KEY}`,
  });
});

test('a real difference is printed with what is and what should be, beside those that are none', async () => {
  const memory: Drifted = {
    id: 'CheckStatus',
    type: 'AWS::Lambda::Function',
    differences: [
      { path: '/MemorySize', expected: '256', actual: '1024' },
      { path: '/Tags', expected: 'null', actual: '[{"Key":"a"}]', how: 'ADD' },
    ],
  };

  expect((await found([LEDGER, memory, { id: 'Leads', type: 'AWS::Events::Rule', status: 'DELETED' }]))?.found).toBe(
    'CheckStatus is MODIFIED: MemorySize is 1024, in the template 256, Tags is [{"Key":"a"}], not in the template; Leads is DELETED',
  );
});

test('what may not be looked up hides no real difference; alone, it is said', async () => {
  const denied = { s3: refused('AccessDenied', 'no', { status: 403 }) };
  const gone: Drifted = { id: 'Leads', type: 'AWS::Events::Rule', status: 'DELETED' };

  expect(await found([BUCKET, gone], denied)).toMatchObject({ verdict: 'broken', found: 'Leads is DELETED' });
  expect(await found([BUCKET], denied)).toMatchObject({
    verdict: 'unknown',
    found: expect.stringContaining('these credentials lack the right'),
  });
});

test('values are compared, however they are written', async () => {
  const timeout = [{ path: '/Timeout', expected: '60', actual: '"60"' }];

  expect(await found([{ id: 'F', type: 'AWS::Lambda::Function', differences: timeout }])).toMatchObject({
    verdict: 'holds',
    found: expect.stringContaining('Timeout of F'),
  });
});

test('values of environments are not printed, and long ones are cut', async () => {
  const differences = [
    { path: '/Environment/Variables/X', expected: 'null', actual: 'canary', how: 'ADD' as const },
    { path: '/Description', expected: 'a', actual: 'b'.repeat(500) },
  ];
  const one = await found([{ id: 'F', type: 'AWS::Lambda::Function', differences }]);

  expect(one?.found).not.toContain('canary');
  expect(one?.found).toMatch(
    /Environment\/Variables\/X is \(not shown\), not in the template, Description is b{100}…, /,
  );
});
