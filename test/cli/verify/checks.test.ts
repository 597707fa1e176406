import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { nameCalls } from '../../../cli/checks/calls.ts';
import { checked } from '../../../cli/checks/check.ts';
import { holds } from '../../../cli/checks/finding.ts';
import type { Target } from '../../../cli/support/target.ts';
import { ALL_CHECKS } from '../../../cli/verify/all-checks.ts';
import { removingAll } from '../../../cli/verify/base/temporary.ts';
import type { Verifying } from '../../../cli/verify/base/verifying.ts';
import { type Answers, refused } from '../support/cloud/answers.ts';
import { aws, once } from '../support/cloud/cloud.ts';
import { OUTPUTS, stack } from '../support/cloud/stack.ts';

/** What AWS answers by its documentation, and no local cloud does (docs/verify.md). */

/** The result of a check where AWS answers as given, and what was asked. */
async function checkedWhere(id: string, answers: Answers) {
  const { client, calls, target: whole } = await aws(answers, stack({ DashboardName: 'board' }));
  const target = { ...whole, s3: client(S3Client), cloudwatch: client(CloudWatchClient) };
  nameCalls(target, ['s3', 'cloudwatch']);
  const check = ALL_CHECKS.find((one) => one.id === id);
  if (!check) throw new Error(`there is no check ${id}`);
  const [result] = await checked(check, { target, id: 'test' } as Verifying, { deployment: 'test' });
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
  // A server without TLS would end a connection that begins with it.
  const { endpoint } = await aws(s3Denies('with an explicit deny in a resource-based policy'));
  const s3 = once(S3Client, endpoint.replace('http:', 'https:'));
  const check = ALL_CHECKS.find(({ id }) => id === 'plain-http');

  // It uses nothing else of either.
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
    { verdict: 'unknown', found: 'these credentials lack the right cloudwatch:GetDashboard' },
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
    refused('ResourceNotFound', 'Dashboard board does not exist', { status: 404 }),
    { verdict: 'broken', found: expect.stringMatching(/^cloudwatch:GetDashboard was answered by ResourceNotFound/) },
  ],
  [
    'foreign error',
    refused('Odd', 'Dana Levi'),
    { verdict: 'broken', found: 'cloudwatch:GetDashboard was answered by Odd' },
  ],
] as const)('a %s is told apart from what does not hold', async ([, reply, result]) => {
  expect((await checkedWhere('dashboard', { monitoring: reply })).result).toMatchObject(result);
});

const BOARD = {
  widgets: [
    { type: 'text', properties: { markdown: '# Did last night work?' } },
    {
      type: 'metric',
      properties: {
        title: 'last published',
        metrics: [
          [{ expression: 'EPOCH(m)', id: 'e', period: 3600 }],
          ['crm-export-test', 'RunsEnded', 'entity', 'leads', { id: 'm', visible: false, stat: 'Sum', period: 3600 }],
        ],
      },
    },
  ],
};

/** What comes of the dashboard where CloudWatch evaluates as given. */
async function dashboard(evaluated: object) {
  const answers = { GetDashboard: { DashboardBody: JSON.stringify(BOARD) }, GetMetricData: evaluated };
  const { result, calls } = await checkedWhere('dashboard', answers);
  return { result, asked: calls.slice(1).map(({ input }) => input.MetricDataQueries) };
}

test('an expression is evaluated with the metrics of its widget, and holds where it has a result, empty or not', async () => {
  const { result, asked } = await dashboard({ MetricDataResults: [{ Id: 'e', StatusCode: 'Complete' }] });

  expect(result).toMatchObject({ verdict: 'holds', found: 'all 1 evaluate' });
  const Dimensions = [{ Name: 'entity', Value: 'leads' }];
  const Metric = { Namespace: 'crm-export-test', MetricName: 'RunsEnded', Dimensions };
  expect(asked).toEqual([
    [
      { Id: 'e', Expression: 'EPOCH(m)', Period: 3600 },
      { Id: 'm', MetricStat: { Metric, Period: 3600, Stat: 'Sum' }, ReturnData: false },
    ],
  ]);
});

test('an expression that CloudWatch refuses does not hold, and the widget is named', async () => {
  const message = "Error in expression 'e': Unsupported operand type(s) for FILL";
  const { result } = await dashboard(refused('ValidationError', message));

  expect(result).toMatchObject({ verdict: 'broken', found: `"last published": ${message}` });
});

test('an expression that CloudWatch could not evaluate just now is not checked', async () => {
  const { result } = await dashboard({ MetricDataResults: [{ Id: 'e', StatusCode: 'InternalError' }] });

  expect(result).toMatchObject({ verdict: 'unknown', found: 'CloudWatch did not evaluate (InternalError)' });
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
