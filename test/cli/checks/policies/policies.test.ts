import { expect, test } from 'vitest';
import { nameCalls } from '../../../../cli/checks/calls.ts';
import { checked } from '../../../../cli/checks/check.ts';
import { type Resource, stackOf } from '../../../../cli/checks/deployed-stack.ts';
import { POLICIES } from '../../../../cli/checks/policies/policies.ts';
import { type Answers, refused, xml } from '../../support/cloud/answers.ts';
import { aws } from '../../support/cloud/cloud.ts';

/** Of the policies of a deployment, as AWS answers them. */

const ACCOUNT = '000000000000';
const role = (name: string) => `arn:aws:iam::${ACCOUNT}:role/${name}`;
const arn = (id: string) => ({ 'Fn::GetAtt': [id, 'Arn'] });
const document = (...Statement: object[]) => ({ Version: '2012-10-17', Statement });
const allow = (Action: string, Resource: unknown, Principal?: object) => ({
  Effect: 'Allow',
  Action,
  Resource,
  ...(Principal && { Principal }),
});

const resource = (logicalId: string, type: string, physicalId: string, properties: object = {}): Resource => {
  return { logicalId, type, physicalId, properties: properties as Resource['properties'] };
};
const QUEUE = `https://sqs.us-east-1.amazonaws.com/${ACCOUNT}/undelivered`;
const TOPIC = `arn:aws:sns:us-east-1:${ACCOUNT}:alarms`;

/** A stack with one policy of each kind, in the words of a template. */
const STACK = [
  resource('Bucket', 'AWS::S3::Bucket', 'bucket'),
  resource('BucketPolicy', 'AWS::S3::BucketPolicy', 'bucket', {
    Bucket: { Ref: 'Bucket' },
    PolicyDocument: document(
      allow('s3:GetObject', { 'Fn::Join': ['', [arn('Bucket'), '/runs/*']] }, { AWS: arn('Role') }),
    ),
  }),
  resource('Key', 'AWS::KMS::Key', 'key-id', {
    KeyPolicy: document({
      ...allow('kms:Decrypt', '*', {
        Service: { 'Fn::Join': ['', ['logs.', { Ref: 'AWS::Region' }, '.', { Ref: 'AWS::URLSuffix' }]] },
      }),
      Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
    }),
  }),
  resource('Queue', 'AWS::SQS::Queue', QUEUE),
  resource('QueuePolicy', 'AWS::SQS::QueuePolicy', 'policy', {
    Queues: [{ Ref: 'Queue' }],
    PolicyDocument: document(allow('sqs:SendMessage', arn('Queue'), { Service: 'events.amazonaws.com' })),
  }),
  resource('Topic', 'AWS::SNS::Topic', TOPIC),
  resource('TopicPolicy', 'AWS::SNS::TopicPolicy', 'policy', {
    Topics: [{ Ref: 'Topic' }],
    PolicyDocument: document(allow('sns:Publish', { Ref: 'Topic' }, { Service: 'cloudwatch.amazonaws.com' })),
  }),
  resource('Role', 'AWS::IAM::Role', 'PublishFile'),
  resource('RolePolicy', 'AWS::IAM::Policy', 'policy', {
    PolicyName: 'Default',
    Roles: [{ Ref: 'Role' }],
    PolicyDocument: document(allow('kms:Decrypt', arn('Key'))),
  }),
];

const BUCKET = allow('s3:GetObject', 'arn:aws:s3:::bucket/runs/*', { AWS: role('PublishFile') });
const QUEUE_ARN = `arn:aws:sqs:us-east-1:${ACCOUNT}:undelivered`;
const result = (operation: string, body: string) =>
  xml(`<${operation}Response><${operation}Result>${body}</${operation}Result></${operation}Response>`);
const inline = (...names: string[]) =>
  result('ListRolePolicies', `<PolicyNames>${names.map((name) => `<member>${name}</member>`).join('')}</PolicyNames>`);
const ofRole = (...statements: object[]) =>
  result(
    'GetRolePolicy',
    `<PolicyDocument>${encodeURIComponent(JSON.stringify(document(...statements)))}</PolicyDocument>`,
  );
const attached = (...arns: string[]) => {
  const members = arns.map((one) => `<member><PolicyName>a</PolicyName><PolicyArn>${one}</PolicyArn></member>`);
  return result('ListAttachedRolePolicies', `<AttachedPolicies>${members.join('')}</AttachedPolicies>`);
};
const text = (...statements: object[]) => JSON.stringify(document(...statements));

/** All as the template says. */
const AS_DEPLOYED: Answers = {
  s3: xml(text(BUCKET)),
  GetKeyPolicy: {
    Policy: text({
      ...allow('kms:Decrypt', '*', { Service: ['logs.us-east-1.amazonaws.com'] }),
      Condition: { StringEquals: { 'aws:SourceAccount': [ACCOUNT] } },
    }),
  },
  GetQueueAttributes: {
    Attributes: { Policy: text(allow('SQS:SendMessage', QUEUE_ARN, { Service: 'events.amazonaws.com' })) },
  },
  GetTopicAttributes: result(
    'GetTopicAttributes',
    `<Attributes><entry><key>Policy</key><value>${text(allow('sns:Publish', TOPIC, { Service: 'cloudwatch.amazonaws.com' })).replaceAll('"', '&quot;')}</value></entry></Attributes>`,
  ),
  ListRolePolicies: inline('Default'),
  GetRolePolicy: ofRole(allow('kms:Decrypt', `arn:aws:kms:us-east-1:${ACCOUNT}:key/key-id`)),
  ListAttachedRolePolicies: attached(),
};

/** What the check finds where the account answers otherwise. */
async function found(answers: Answers = {}, resources = STACK) {
  const { target } = await aws(answers, AS_DEPLOYED);
  nameCalls(target, ['s3', 'kms', 'sqs', 'sns', 'iam']);
  return checked(POLICIES, { target, stack: stackOf(resources) }, { deployment: 'prod', profile: 'exports' });
}

const REWRITE = 'npx cdk deploy -c deployment=prod -c rewrite=policies --profile exports';

test('policies that say what the template says hold, with its references resolved', async () => {
  expect(await found()).toMatchObject([{ verdict: 'holds', found: '5 policies say what the template says' }]);
});

test('a change of a policy is named with its statement, and the deployment that writes it anew, not --revert-drift', async () => {
  const [one] = await found({ s3: xml(text({ ...BUCKET, Principal: { AWS: 'AROAEXAMPLEID1234567' } })) });

  expect(one).toMatchObject({
    verdict: 'broken',
    found: `bucket bucket: Allow s3:GetObject of PublishFile: Principal lacks ${role('PublishFile')} and has AROAEXAMPLEID1234567 (the id of a role or user that was deleted)`,
    advice: `write all policies anew, which --revert-drift does not: ${REWRITE}`,
  });
});

test.each<[string, Answers, string]>([
  ['the bucket', { s3: refused('NoSuchBucketPolicy', 'none', { status: 404 }) }, 'bucket bucket has no policy'],
  ['the queue', { GetQueueAttributes: {} }, 'queue undelivered has no policy'],
  ['a role', { ListRolePolicies: inline() }, 'role PublishFile has no policy'],
])('a policy of %s that is gone is named', async (_, answers, what) => {
  expect(await found(answers)).toMatchObject([
    { verdict: 'broken', found: what, advice: expect.stringMatching(REWRITE) },
  ]);
});

test('a policy that a role was given besides is named with the command that takes it away', async () => {
  const other = 'arn:aws:iam::aws:policy/AdministratorAccess';
  const [one] = await found({ ListRolePolicies: inline('Default', 'More'), ListAttachedRolePolicies: attached(other) });

  expect(one).toMatchObject({
    verdict: 'broken',
    found: `role PublishFile has a policy More that is not in the template. role PublishFile has ${other} attached, which is not in the template`,
    advice: expect.stringContaining(
      'aws iam delete-role-policy --role-name PublishFile --policy-name More --profile exports;',
    ),
  });
  expect(one?.advice).toMatch(
    / aws iam detach-role-policy --role-name PublishFile --policy-arn \S+ --profile exports$/,
  );
  expect(one?.advice).not.toContain('rewrite');
});

test('an attached policy that the template gives a role may be there, and has to be', async () => {
  const wanted = 'arn:aws:iam::aws:policy/Boundary';
  const given = STACK.map((one) =>
    one.logicalId === 'Role' ? { ...one, properties: { ManagedPolicyArns: [wanted] } } : one,
  );

  expect(await found({ ListAttachedRolePolicies: attached(wanted) }, given)).toMatchObject([{ verdict: 'holds' }]);
  expect(await found({}, given)).toMatchObject([
    { verdict: 'broken', advice: expect.stringContaining('--revert-drift') },
  ]);
});

test('a role that is gone is brought back by --revert-drift', async () => {
  const gone = refused('NoSuchEntity', 'The role with name PublishFile cannot be found.', { status: 404 });

  expect(await found({ ListRolePolicies: gone })).toMatchObject([
    { verdict: 'broken', advice: expect.stringMatching(/--revert-drift --profile exports\.$/) },
  ]);
});

test('what may not be read is named by its right, beside what was found elsewhere', async () => {
  const denied = {
    GetKeyPolicy: refused('AccessDeniedException', 'no'),
    ListRolePolicies: refused('AccessDenied', 'no'),
  };
  const lacks = (right: string) => ({ verdict: 'unknown', found: `these credentials lack the right ${right}` });

  expect(await found(denied)).toMatchObject([lacks('iam:ListRolePolicies'), lacks('kms:GetKeyPolicy')]);
  expect(await found({ ...denied, GetQueueAttributes: {} })).toMatchObject([
    { verdict: 'broken', found: 'queue undelivered has no policy' },
    lacks('iam:ListRolePolicies'),
    lacks('kms:GetKeyPolicy'),
  ]);
});

test('a reference that this check does not know is no difference', async () => {
  const strange = STACK.map((one) =>
    one.logicalId === 'BucketPolicy'
      ? { ...one, properties: { ...one.properties, PolicyDocument: document(allow('s3:*', { 'Fn::Sub': 'a' })) } }
      : one,
  );

  expect(await found({}, strange)).toMatchObject([{ verdict: 'unknown', found: expect.stringContaining('Fn::Sub') }]);
});
