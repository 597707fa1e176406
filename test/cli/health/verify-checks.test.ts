import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { stackOf } from '../../../cli/health/deployed-stack.ts';
import { checked, holds, nameCalls } from '../../../cli/health/health-check.ts';
import { ALL_CHECKS } from '../../../cli/health/verify.ts';
import type { Verifying } from '../../../cli/health/verify-export.ts';
import { removingAll } from '../../../cli/health/verify-starts.ts';
import type { Target } from '../../../cli/support/target.ts';
import { type Answers, refused } from '../support/cloud/answers.ts';
import { aws, once } from '../support/cloud/cloud.ts';
import { OUTPUTS } from '../support/cloud/stack.ts';

/** Tests documented AWS answers that local clouds do not give (docs/verify.md). */

/** The result of a check with these AWS answers, and the requests. */
async function checkedWhere(id: string, answers: Answers) {
  const { client, calls, target: whole } = await aws(answers);
  const target = { ...whole, s3: client(S3Client), cloudwatch: client(CloudWatchClient) };
  nameCalls(target, ['s3', 'cloudwatch']);
  const check = ALL_CHECKS.find((one) => one.id === id);
  if (!check) throw new Error(`there is no check ${id}`);
  const [result] = await checked(
    check,
    { target, stack: stackOf([]), id: 'test', alarm: true } as unknown as Verifying,
    { deployment: 'test' },
  );
  return { result, calls };
}

const s3Denies = (message: string) => ({ s3: refused('AccessDenied', message, { status: 403 }) });
const DENIED =
  'User: arn:aws:iam::000000000000:user/a is not authorized to perform: s3:PutObject on resource: "arn:aws:s3:::bucket/verify_/test"';

test.for(['plain-http', 'foreign-key'])('%s holds where S3 says that the policy of the bucket refused', async (id) => {
  const where = s3Denies(`${DENIED} with an explicit deny in a resource-based policy`);
  const { result, calls } = await checkedWhere(id, where);

  expect(result).toMatchObject({ verdict: 'holds', advice: null });
  const key = 'arn:aws:kms:us-east-1:000000000000:alias/aws/s3';
  const foreign = [
    ['PutObject', 'aws:kms', key],
    ['PutObject', 'AES256', undefined],
  ];
  const asked = calls.map(({ operation, headers }) => [
    operation,
    headers['x-amz-server-side-encryption'],
    headers['x-amz-server-side-encryption-aws-kms-key-id'],
  ]);
  expect(asked).toEqual(id === 'plain-http' ? [['PutObject', undefined, undefined]] : foreign);
});

test.for(['plain-http', 'foreign-key'])(
  '%s is not checked where the credentials may write nothing anyway',
  async (id) => {
    const where = s3Denies(`${DENIED} because no identity-based policy allows the s3:PutObject action`);
    const { result } = await checkedWhere(id, where);

    expect(result).toMatchObject({ verdict: 'unknown', found: expect.stringMatching(/may lack s3:PutObject$/) });
  },
);

test('plain http is used for the whole request, whatever the endpoint is', async () => {
  // A server without TLS closes a connection that starts with TLS.
  const { endpoint } = await aws(s3Denies('with an explicit deny in a resource-based policy'));
  const s3 = once(S3Client, endpoint.replace('http:', 'https:'));
  const check = ALL_CHECKS.find(({ id }) => id === 'plain-http');

  // The check uses no other part of the two.
  expect(await check?.look({ target: { ...OUTPUTS, s3 } as unknown as Target, id: 'test' } as Verifying)).toMatchObject(
    {
      verdict: 'holds',
    },
  );
});

test.for([
  [
    'missing right',
    refused('AccessDenied', 'no', { status: 403 }),
    { verdict: 'unknown', found: 'these credentials lack the right cloudwatch:DescribeAlarms' },
  ],
  [
    'throttling',
    refused('Throttling', 'Rate exceeded'),
    { verdict: 'unknown', found: expect.stringMatching(/^AWS is called too often/) },
  ],
  [
    'unknown operation',
    refused('InvalidAction'),
    { verdict: 'unknown', found: expect.stringMatching(/^this cloud does not have it/) },
  ],
  [
    'missing part',
    refused('ResourceNotFound', 'No alarm', { status: 404 }),
    { verdict: 'broken', found: expect.stringMatching(/^cloudwatch:DescribeAlarms was answered by ResourceNotFound/) },
  ],
  [
    'foreign error',
    refused('Odd', 'Dana Levi'),
    { verdict: 'broken', found: 'cloudwatch:DescribeAlarms was answered by Odd' },
  ],
] as const)('a %s is told apart from what does not hold', async ([, reply, result]) => {
  expect((await checkedWhere('alarm', { monitoring: reply })).result).toMatchObject(result);
});

test('what a check has made is removed, the last first, also after an error', async () => {
  const removed: string[] = [];
  const work = removingAll(async (made) => {
    for (const what of ['queue', 'subscription']) made(what, async () => removed.push(what));
    throw new Error('no');
  });

  await expect(work).rejects.toThrow('no');
  expect(removed).toEqual(['subscription', 'queue']);
});

test('what cannot be removed is named, whatever the check came to', async () => {
  const removed: string[] = [];
  const result = await removingAll(async (made) => {
    made('queue', async () => removed.push('queue'));
    made('rule', () => Promise.reject(new Error('no')));
    return holds('arrived');
  });

  expect(result).toMatchObject({
    verdict: 'broken',
    found: 'could not be removed: rule',
    advice: 'Remove it by hand.',
  });
  expect(removed).toEqual(['queue']);
});
