import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { broken, type Checked, checked, holds, unknown } from '../../../cli/health/check.ts';
import { ALL_CHECKS, isProof } from '../../../cli/health/verify.ts';
import type { Verifying } from '../../../cli/health/verify-export.ts';
import {
  LEFT_OVERS,
  reasonFor,
  removeLeftOvers,
  TEMPORARY_PREFIX,
  temporaryName,
} from '../../../cli/health/verify-temporary.ts';
import { deployedOf } from '../../../core/config/deployed.ts';
import { deployment } from '../../support/builders.ts';
import { clockAt } from '../../support/clock.ts';
import { expectTexts } from '../../support/screen.ts';
import { aRun } from '../support/a-run.ts';
import { type Answers, denied, Reply, refused, xml } from '../support/cloud/answers.ts';
import { aws, awsWithTarget, once } from '../support/cloud/cloud.ts';
import { grant, storedTokens } from '../support/cloud/grant.ts';
import { OUTPUTS, stack } from '../support/cloud/stack.ts';
import { subscriptions } from '../support/cloud/subscriptions.ts';
import { expectFindings } from '../support/findings.ts';

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
  const { endpoint, target } = await awsWithTarget(s3Denies('with an explicit deny in a resource-based policy'));
  const s3 = once(S3Client, endpoint.replace('http:', 'https:'));

  const { result } = await checkedWhere('plain-http', {}, { target: { ...target, s3 } });

  expect(result).toMatchObject({ verdict: 'holds' });
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

  expect(result).toMatchObject({ verdict: 'holds', found: expect.stringContaining('crm-export-test-A') });
  const reason = reasonFor('test', 'OK');
  expect(states).toEqual([
    ['ALARM', reason],
    ['OK', reason],
    ['ALARM', reason],
    ['OK', reason],
  ]);
});

test('rule-start makes no rule that fires every minute without the right to remove it', async () => {
  const mayNot = refused('AccessDeniedException', 'not authorized to perform: events:RemoveTargets', { status: 403 });
  const { result, asked } = await checkedWhere('rule-start', { RemoveTargets: mayNot });

  expect(result).toMatchObject({ verdict: 'unknown', found: expect.stringContaining('events:RemoveTargets') });
  expect(asked).toEqual(['ListTargetsByRule', 'RemoveTargets']);
});

const IMPATIENT = { everyMs: 5, patienceMs: 0, runMs: 0 };
const NOTHING_STORED = { GetMetricData: { MetricDataResults: [] } };
const TEMPLATE = xml('<r><ListStackResourcesResult/></r>');

const storedIn = grant({ tokens: storedTokens({ functionStoredAt: '2026-11-20T01:00:00.000Z' }) });
const mayNotRead = refused('AccessDeniedException', 'no', { status: 403 });
const failed = { exported: () => Promise.reject(new Error('the export failed')) };
const stores = { PutObject: {}, DeleteObject: {} };
const unencrypted = { HeadObject: xml(''), ListStackResources: TEMPLATE };
const own = s3Denies(`${DENIED} because no identity-based policy allows the s3:PutObject action`);

const ROWS: [what: string, id: string, answers: Answers, changes?: Partial<Verifying>][] = [
  ['credentials that may not write', 'plain-http', own],
  ['credentials that may not write', 'foreign-key', own],
  ['a bucket that stores it', 'plain-http', stores],
  ['a bucket that stores it', 'foreign-key', stores],
  ['a file without encryption', 'encryption', unencrypted],
  ['a metric that does not arrive', 'metrics', NOTHING_STORED],
  ['an export that failed', 'grant-stored', storedIn, failed],
  ['no right to read the secret', 'grant-stored', { GetSecretValue: mayNotRead }, failed],
  ['a store that does not answer', 'grant-stored', { GetSecretValue: refused('InternalServiceError') }, failed],
];
/** Checks of what a local cloud does not enforce. */
const NOT_LOCAL = ROWS.filter(([what, id]) => id !== 'grant-stored' && !what.startsWith('credentials'));

test('each answer of AWS has a finding, and a local cloud is not expected to enforce as much', async () => {
  const local = NOT_LOCAL.map(([what, id, answers]): (typeof ROWS)[number] => {
    return [`${what}, in a local cloud`, id, answers, { configuration: ofLocal(true) }];
  });
  const findings = [...ROWS, ...local].map(async ([what, id, answers, changes]) => {
    const { result } = await checkedWhere(id, answers, { pace: IMPATIENT, ...changes });
    return [`${id}: ${what}`, result ?? expect.unreachable()] as const;
  });

  await expectFindings('verify-findings', await Promise.all(findings));
});

test.for(['UPDATE_IN_PROGRESS', 'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS', 'UPDATE_ROLLBACK_FAILED'])(
  'refuses a stack in %s in one sentence, before it creates anything',
  async (status) => {
    const { cli, calls } = await aws(stack({}, status));

    const { code, stdout, stderr } = await cli('verify');

    expect({ code, stdout, calls }).toEqual({ code: 3, stdout: '', calls: [] });
    await expectTexts('verify-unsettled', [['a stack that is not settled', stderr.replace(status, 'STATUS')]]);
  },
);

test('verify without any right names the rights of each check, and proves nothing', async () => {
  const { cli } = await aws(denied('*'), stack());
  const { code, stdout } = await cli('verify', '--alarm');

  expect(code).toBe(1);
  for (const { id } of ALL_CHECKS) expect(stdout).toMatch(new RegExp(`^. ${id}: .* [a-z0-9-]+:[A-Z]\\w+`, 'm'));
});

test('docs/verify.md explains every check', async () => {
  const ids = [...ALL_CHECKS, LEFT_OVERS].map(({ id }) => id);
  const document = await readFile('docs/verify.md', 'utf8');

  expect(ids.filter((id) => !new RegExp(`^\\|[^|]*\`${id}\`[^|]*\\|`, 'm').test(document))).toEqual([]);
});

test('unknown checks do not fail a verify, but do not prove anything alone', () => {
  const question = { question: 'Is it?', rights: [] };
  const held: Checked = { ...holds('all'), id: 'a', ...question };
  const untold: Checked = { ...unknown('no right'), id: 'b', ...question };
  const bad: Checked = { ...broken('none', 'Make some.'), id: 'c', ...question };

  expect(isProof([held, untold])).toBe(true);
  expect(isProof([held, bad])).toBe(false);
  expect(isProof([untold])).toBe(false);
});

/** Tests AWS's answers about resources that a verify made and removed. Local clouds forget these at once. */

const TOPIC = OUTPUTS.AlarmTopicArn;
const OURS = '20261122T020000Z-0a0a0a';
/** Another verify that started just now, and one that must have ended. */
const OTHER = '20261122T020000Z-0b0b0b';
const KILLED = '20261120T020000Z-0c0c0c';

const queues = (...ids: string[]) => ({
  QueueUrls: ids.map((id) => `http://127.0.0.1/000000000000/crm-export-test_verify_${id}`),
});

const NOTHING_LEFT: Answers = {
  ListRules: { Rules: [] },
  DescribeAlarms: { MetricAlarms: [] },
  ListQueues: {},
  ListSubscriptionsByTopic: subscriptions([]),
};

async function leftOvers(answers: Answers) {
  const { target, calls } = await awsWithTarget({ ...NOTHING_LEFT, ...answers });
  const [found] = await checked(LEFT_OVERS, () => removeLeftOvers({ target, id: OURS }), { deployment: 'test' });
  const asked = (operation: string) => calls.filter((call) => call.operation === operation).map(({ input }) => input);
  return { found, asked };
}

const OBJECT: Answers = {
  // The fake bucket calls every list so.
  ListObjectsV2: xml(`<r><Version><Key>${TEMPORARY_PREFIX}${OURS}</Key><VersionId>v1</VersionId></Version></r>`),
};

test('removes what this verify made and what a killed verify left, but nothing of another running verify', async () => {
  const rules = (...ids: string[]) => ids.map((id) => temporaryName('crm-export-test', id));
  const { found, asked } = await leftOvers({
    ListQueues: queues(OURS, OTHER, KILLED),
    DeleteQueue: {},
    ListRules: { Rules: rules(OURS, OTHER, KILLED).map((Name) => ({ Name })) },
    RemoveTargets: {},
    DeleteRule: {},
    ...OBJECT,
    DeleteObject: xml(''),
  });

  expect(asked('DeleteQueue').map(({ QueueUrl }) => QueueUrl)).toEqual(queues(OURS, KILLED).QueueUrls);
  expect(asked('DeleteRule').map(({ Name }) => Name)).toEqual(rules(OURS, KILLED));
  expect(asked('DeleteObject')).toHaveLength(1);
  expect(found).toMatchObject({ verdict: 'holds' });
});

const mayNot = (right: string) => refused('AccessDenied', `not authorized to perform: ${right}`, { status: 403 });

const KEPT: [what: string, answers: Answers][] = [
  ['a queue of a verify that was killed', { ListQueues: queues(KILLED), DeleteQueue: {} }],
  ['a queue that no longer exists', { DeleteQueue: refused('QueueDoesNotExist') }],
  ['a queue that cannot be removed', { DeleteQueue: refused('InternalError') }],
  ['no right to remove a queue', { DeleteQueue: mayNot('sqs:DeleteQueue') }],
  ['no right to list queues', { ListQueues: mayNot('sqs:ListQueues') }],
  [
    'no right to delete a version, which AWS does not name',
    { ...OBJECT, ListQueues: {}, DeleteObject: refused('AccessDenied', 'Access Denied', { status: 403 }) },
  ],
];

test('says what was removed, and what could not be', async () => {
  const findings = KEPT.map(async ([what, answers]) => {
    const { found } = await leftOvers({ ListQueues: queues(OURS), ...answers });
    return [what, found ?? expect.unreachable()] as const;
  });

  await expectFindings('left-overs', await Promise.all(findings));
});

test('skips a subscription that is not confirmed yet or is deleted', async () => {
  const queue = `arn:aws:sqs:us-east-1:000000000000:crm-export-test_verify_${OURS}`;
  const { found, asked } = await leftOvers({
    ListSubscriptionsByTopic: subscriptions(['PendingConfirmation', 'Deleted', `${TOPIC}:1`], queue),
    Unsubscribe: xml('<UnsubscribeResponse/>'),
  });

  expect(asked('Unsubscribe').map(({ SubscriptionArn }) => SubscriptionArn)).toEqual([`${TOPIC}:1`]);
  expect(found).toMatchObject({ verdict: 'holds' });
});

test('resets alarms of this deployment on every page, and none of another deployment or verify', async () => {
  const alarm = (AlarmName: string, StateValue: string, id = OURS, AlarmActions = [TOPIC]) => {
    return { AlarmName, StateValue, StateReason: reasonFor(id, 'OK'), AlarmActions };
  };
  const first = [
    alarm('crm-export-test-2-A', 'ALARM', OURS, [`${TOPIC}-2`]),
    alarm('crm-export-test-A', 'OK'),
    alarm('crm-export-test-C', 'ALARM', OTHER),
  ];
  const { found, asked } = await leftOvers({
    DescribeAlarms: ({ input }) =>
      input.NextToken
        ? { MetricAlarms: [alarm('crm-export-test-B', 'ALARM')] }
        : { MetricAlarms: first, NextToken: 'more' },
    SetAlarmState: {},
  });

  expect(asked('SetAlarmState').map(({ AlarmName, StateValue }) => [AlarmName, StateValue])).toEqual([
    ['crm-export-test-B', 'OK'],
  ]);
  expect(found).toMatchObject({ verdict: 'holds' });
});
