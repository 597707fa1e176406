import { createHash } from 'node:crypto';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { checked } from '../../../cli/health/check.ts';
import { ALL_CHECKS } from '../../../cli/health/verify.ts';
import type { Verifying } from '../../../cli/health/verify-export.ts';
import { reasonFor } from '../../../cli/health/verify-temporary.ts';
import type { Target } from '../../../cli/support/target.ts';
import { deployedOf } from '../../../core/config/deployed.ts';
import { deployment } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { aRun } from '../support/a-run.ts';
import { type Answers, Reply, refused, xml } from '../support/cloud/answers.ts';
import { awsWithTarget, once } from '../support/cloud/cloud.ts';
import { OUTPUTS } from '../support/cloud/stack.ts';

clockAt('2026-11-22T02:00:05Z');

/** Tests documented AWS answers that local clouds do not give (docs/verify.md). */

const ofLocal = async (local: boolean) => deployedOf({ ...deployment(), local });

/** The result of a check with these AWS answers, and the requests. */
async function checkedWhere(id: string, answers: Answers, changes: Partial<Verifying> = {}) {
  const { client, calls, asked, target: whole } = await awsWithTarget(answers);
  const target = { ...whole, s3: client(S3Client), cloudwatch: client(CloudWatchClient) };
  const run = { ...aRun(), askedAt: new Date(), steps: ['CreateExport'], key: 'k', manifestKey: 'm' };
  const { signal } = new AbortController();
  const verifying: Verifying = {
    ...{ target, entity: 'leads', id: 'test', alarm: true, runs: [], signal },
    exported: async () => run,
    configuration: ofLocal(false),
    pace: { everyMs: 5, patienceMs: 5000, runMs: 0 },
    ...changes,
  };
  const check = ALL_CHECKS.find((one) => one.id === id) ?? expect.unreachable();
  const [result] = await checked(check, () => check.answer(verifying), { deployment: 'test' });
  return { result, calls, asked };
}

const PUTS = ['plain-http', 'foreign-key'];
const s3Denies = (message: string) => ({ s3: refused('AccessDenied', message, { status: 403 }) });
const DENIED =
  'User: arn:aws:iam::000000000000:user/a is not authorized to perform: s3:PutObject on resource: "arn:aws:s3:::bucket/verify_/test"';

test.for(PUTS)('%s holds if S3 names an explicit deny in the bucket policy', async (id) => {
  const where = s3Denies(`${DENIED} with an explicit deny in a resource-based policy`);
  const { result, calls } = await checkedWhere(id, where);

  expect(result).toMatchObject({ verdict: 'holds', advice: null });
  const key = 'arn:aws:kms:us-east-1:000000000000:alias/aws/s3';
  const foreign = [
    ['PutObject', 'aws:kms', key],
    ['PutObject', 'AES256', undefined],
  ];
  const sent = calls.map(({ operation, headers }) => [
    operation,
    headers['x-amz-server-side-encryption'],
    headers['x-amz-server-side-encryption-aws-kms-key-id'],
  ]);
  expect(sent).toEqual(id === 'plain-http' ? [['PutObject', undefined, undefined]] : foreign);
});

test.for(PUTS)('%s is unknown if the credentials themselves may not write', async (id) => {
  const where = s3Denies(`${DENIED} because no identity-based policy allows the s3:PutObject action`);

  expect((await checkedWhere(id, where)).result).toMatchObject({
    verdict: 'unknown',
    found: expect.stringMatching(/may lack s3:PutObject$/),
  });
});

test.for(
  PUTS.flatMap((id) => [
    { id, answer: xml('') },
    { id, answer: refused('AccessDenied', 'no', { status: 403 }) },
  ]),
)('$id is broken and deletes the version that the bucket stored, whatever the answer', async ({ id, answer }) => {
  let stored = 0;
  const deleted: unknown[] = [];
  const { result } = await checkedWhere(id, {
    PutObject: () => {
      stored += 1;
      return new Reply((response) => response.writeHead(200, { 'x-amz-version-id': `v${stored}` }).end());
    },
    DeleteObject: ({ key, input }) => {
      deleted.push([key, input.versionId]);
      return answer;
    },
  });

  expect(result).toMatchObject({ verdict: 'broken' });
  expect(deleted).toEqual(['v1', 'v2'].slice(0, stored).map((version) => ['verify_/test', version]));
});

test('plain-http sends its whole request over http, even to an https endpoint', async () => {
  // A server without TLS closes a connection that starts with TLS.
  const { endpoint } = await awsWithTarget(s3Denies('with an explicit deny in a resource-based policy'));
  const s3 = once(S3Client, endpoint.replace('http:', 'https:'));
  const check = ALL_CHECKS.find(({ id }) => id === 'plain-http');

  // The check uses no other part.
  const verifying = { target: { ...OUTPUTS, s3 } as unknown as Target, id: 'test' } as Verifying;
  expect(await check?.answer(verifying)).toMatchObject({ verdict: 'holds' });
});

test('sets the alarm again until the queue receives it, then sets it back', async () => {
  const states: unknown[] = [];
  const alarm = { AlarmName: 'crm-export-test-A', StateValue: 'OK', AlarmActions: [OUTPUTS.AlarmTopicArn] };
  const Body = JSON.stringify({
    Message: JSON.stringify({ AlarmName: 'crm-export-test-A', NewStateValue: 'ALARM' }),
  });
  const MD5OfBody = createHash('md5').update(Body).digest('hex');
  const { result } = await checkedWhere('alarm', {
    DescribeAlarms: { MetricAlarms: [alarm] },
    SetAlarmState: ({ input }) => {
      states.push([input.StateValue, input.StateReason]);
      return {};
    },
    CreateQueue: { QueueUrl: 'http://127.0.0.1/000000000000/q' },
    Subscribe: xml('<SubscribeResponse><SubscribeResult/></SubscribeResponse>'),
    ReceiveMessage: () => (states.length > 1 ? { Messages: [{ Body, MD5OfBody }] } : {}),
  });

  expect(result).toMatchObject({ verdict: 'holds', found: 'crm-export-test-A arrived in the queue' });
  const reason = reasonFor('test', 'OK');
  expect(states).toEqual([
    ['ALARM', reason],
    ['OK', reason],
    ['ALARM', reason],
    ['OK', reason],
  ]);
});

test('rule-start makes no rule that fires every minute without the right to remove it', async () => {
  const denied = refused('AccessDeniedException', 'not authorized to perform: events:RemoveTargets', { status: 403 });
  const { result, asked } = await checkedWhere('rule-start', { RemoveTargets: denied });

  expect(result).toMatchObject({
    verdict: 'unknown',
    found: 'these credentials lack the right events:RemoveTargets',
  });
  expect(asked).toEqual(['ListTargetsByRule', 'RemoveTargets']);
});

const NOTHING_STORED = { GetMetricData: { MetricDataResults: [] } };
const TEMPLATE = xml('<r><ListStackResourcesResult/></r>');

test.for<[string, string, Answers]>([
  ['plain-http', 'broken', { PutObject: {}, DeleteObject: {} }],
  ['foreign-key', 'broken', { PutObject: {}, DeleteObject: {} }],
  ['encryption', 'broken', { HeadObject: xml(''), ListStackResources: TEMPLATE }],
  ['metrics', 'unknown', NOTHING_STORED],
])('%s is %s, but "not enforced here" in a local cloud', async ([id, verdict, answers]) => {
  const pace = { everyMs: 5, patienceMs: 0, runMs: 0 };
  const local = await checkedWhere(id, answers, { pace, configuration: ofLocal(true) });
  const real = await checkedWhere(id, answers, { pace });

  expect(local.result).toMatchObject({ verdict: 'unknown', found: 'not enforced here', advice: null });
  expect(real.result).toMatchObject({ verdict, advice: expect.any(String) });
});

test('a metric that does not arrive is read until time runs out, and is then unknown', async () => {
  const pace = { everyMs: 5, patienceMs: 0, runMs: 0 };
  const { result, asked } = await checkedWhere('metrics', NOTHING_STORED, { pace });

  expect(result).toMatchObject({
    verdict: 'unknown',
    found: expect.stringMatching(/^no data yet of crm-export-test RunsEnded \{entity=leads, outcome=PUBLISHED\}, /),
  });
  expect(asked.filter((line) => /GetMetricData/.test(line))).toHaveLength(2);
});

test('a metric that arrives at the third read holds', async () => {
  let looks = 0;
  const { result } = await checkedWhere('metrics', {
    GetMetricData: ({ input }) => {
      looks += 1;
      const queries = looks < 3 ? [] : (input.MetricDataQueries as { Id: string }[]);
      return { MetricDataResults: queries.map(({ Id }) => ({ Id, Values: [1] })) };
    },
  });

  expect({ looks, verdict: result?.verdict }).toEqual({ looks: 3, verdict: 'holds' });
});

const obtainedAt = '2026-11-20T00:00:00.000Z';
const tokens = { refreshToken: 'r', accessToken: 'a', expiresAt: null, obtainedAt, scope: '', earlierObtainedAt: [] };
const functionStoredAt = '2026-11-20T01:00:00.000Z';

test.each<[string, Answers, object]>([
  [
    'reports the time even if the export failed',
    {
      GetSecretValue: ({ input }) =>
        'VersionStage' in input
          ? { VersionId: 'v1', SecretString: JSON.stringify({ ...tokens, functionStoredAt }) }
          : refused('ResourceNotFoundException'),
    },
    { verdict: 'holds', found: `At ${functionStoredAt}.` },
  ],
  [
    'is unknown, and does not fail, without the right to read the secret',
    { GetSecretValue: refused('AccessDeniedException', 'no', { status: 403 }) },
    {
      ...{ verdict: 'unknown', exitCode: 0 },
      found: expect.stringContaining('these credentials lack the right secretsmanager:GetSecretValue'),
    },
  ],
  [
    'is unknown, and does not fail, if the store does not answer',
    { GetSecretValue: refused('InternalServiceError') },
    { verdict: 'unknown', exitCode: 0 },
  ],
])('the check grant-stored %s', async (_, answers, finding) => {
  const exported = () => Promise.reject(new Error('the export failed'));

  expect((await checkedWhere('grant-stored', answers, { exported })).result).toMatchObject(finding);
});
