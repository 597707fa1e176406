import { text } from 'node:stream/consumers';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import type { Target } from '../../../cli/support/target.ts';
import { ALL_CHECKS } from '../../../cli/verify/all-checks.ts';
import { nameCalls } from '../../../cli/verify/base/calls.ts';
import { checked } from '../../../cli/verify/base/check.ts';
import { removingAll } from '../../../cli/verify/base/temporary.ts';
import type { Verifying } from '../../../cli/verify/base/verifying.ts';
import { OUTPUTS, type Reply, serve } from '../support/aws-server.ts';

/** What AWS answers by its documentation, and no local cloud does (docs/verify.md). */

const settings = { region: 'us-east-1', credentials: { accessKeyId: '1', secretAccessKey: '2' }, maxAttempts: 1 };

/** The result of a check where AWS answers as given; each request of S3 is noted with its headers. */
async function resultOf(
  id: string,
  answer: (method: string, headers: NodeJS.Dict<string | string[]>, body: string) => Reply,
) {
  const endpoint = await serve(async (request) => answer(request.method ?? '', request.headers, await text(request)));
  const s3 = new S3Client({ ...settings, endpoint, forcePathStyle: true });
  const cloudwatch = new CloudWatchClient({ ...settings, endpoint });
  // A check uses no other clients.
  const target = { ...OUTPUTS, s3, cloudwatch, DashboardName: 'board', stack: 'crm-export-prod' } as unknown as Target;
  nameCalls(target, ['s3', 'cloudwatch']);
  const check = ALL_CHECKS.find((one) => one.id === id);
  if (!check) throw new Error(`there is no check ${id}`);
  return checked(check, { target, id: 'test' } as Verifying);
}

const s3Error = (code: string, message: string): Reply => {
  return { status: 403, body: `<Error><Code>${code}</Code><Message>${message}</Message></Error>` };
};
const DENIED =
  'User: arn:aws:iam::000000000000:user/a is not authorized to perform: s3:PutObject on resource: "arn:aws:s3:::bucket/verify_/test"';

test.for(['plain-http', 'foreign-key'])('%s holds where S3 says that the policy of the bucket refused', async (id) => {
  const asked: unknown[] = [];
  const result = await resultOf(id, (method, headers) => {
    asked.push([
      method,
      headers['x-amz-server-side-encryption'],
      headers['x-amz-server-side-encryption-aws-kms-key-id'],
    ]);
    return s3Error('AccessDenied', `${DENIED} with an explicit deny in a resource-based policy`);
  });

  expect(result).toMatchObject({ ok: true, why: null });
  const aws = 'arn:aws:kms:us-east-1:000000000000:alias/aws/s3';
  const foreign = [
    ['PUT', 'aws:kms', aws],
    ['PUT', 'AES256', undefined],
  ];
  expect(asked).toEqual(id === 'plain-http' ? [['PUT', undefined, undefined]] : foreign);
});

test.for(['plain-http', 'foreign-key'])(
  '%s is not checked where the credentials may write nothing anyway',
  async (id) => {
    const result = await resultOf(id, () => {
      return s3Error('AccessDenied', `${DENIED} because no identity-based policy allows the s3:PutObject action`);
    });

    expect(result).toMatchObject({ ok: null, found: null, why: expect.stringMatching(/may lack s3:PutObject$/) });
  },
);

test('plain http is used for the whole request, whatever the endpoint is', async () => {
  // A server without TLS would end a connection that begins with it.
  const endpoint = await serve(() => s3Error('AccessDenied', 'with an explicit deny in a resource-based policy'));
  const s3 = new S3Client({ ...settings, endpoint: endpoint.replace('http:', 'https:'), forcePathStyle: true });
  const check = ALL_CHECKS.find(({ id }) => id === 'plain-http');

  // It uses nothing else of either.
  expect(await check?.look({ target: { ...OUTPUTS, s3 } as unknown as Target, id: 'test' } as Verifying)).toMatchObject(
    {
      ok: true,
    },
  );
});

const json = (output: object): Reply => {
  return { status: 200, type: 'application/x-amz-json-1.0', body: JSON.stringify(output) };
};
const jsonError = (status: number, __type: string, message: string): Reply => {
  return { status, type: 'application/x-amz-json-1.0', body: JSON.stringify({ __type, message }) };
};

test.for([
  [
    'missing right',
    jsonError(403, 'AccessDenied', 'no'),
    { ok: null, why: 'these credentials lack the right cloudwatch:GetDashboard' },
  ],
  [
    'throttling',
    jsonError(400, 'Throttling', 'Rate exceeded'),
    { ok: null, why: expect.stringMatching(/^AWS is called too often/) },
  ],
  [
    'unknown operation',
    jsonError(400, 'InvalidAction', 'no'),
    { ok: null, why: expect.stringMatching(/^this cloud does not have it/) },
  ],
  [
    'missing part',
    jsonError(404, 'ResourceNotFound', 'Dashboard board does not exist'),
    { ok: false, found: expect.stringMatching(/^cloudwatch:GetDashboard was answered by ResourceNotFound/) },
  ],
  [
    'foreign error',
    jsonError(400, 'Odd', 'Dana Levi'),
    { ok: false, found: 'cloudwatch:GetDashboard was answered by Odd' },
  ],
] as const)('a %s is told apart from what does not hold', async ([, reply, result]) => {
  expect(await resultOf('dashboard', () => reply)).toMatchObject(result);
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
          ['crm-export-prod', 'RunsEnded', 'entity', 'leads', { id: 'm', visible: false, stat: 'Sum', period: 3600 }],
        ],
      },
    },
  ],
};

/** What comes of the dashboard where CloudWatch evaluates as given. */
async function dashboard(evaluated: Reply) {
  const asked: unknown[] = [];
  const result = await resultOf('dashboard', (_, { 'x-amz-target': operation }, body) => {
    if (String(operation).endsWith('GetDashboard')) return json({ DashboardBody: JSON.stringify(BOARD) });
    asked.push(JSON.parse(body).MetricDataQueries);
    return evaluated;
  });
  return { result, asked };
}

test('an expression is evaluated with the metrics of its widget, and holds where it has a result, empty or not', async () => {
  const { result, asked } = await dashboard(json({ MetricDataResults: [{ Id: 'e', StatusCode: 'Complete' }] }));

  expect(result).toMatchObject({ ok: true, found: 'all 1 evaluate' });
  const Dimensions = [{ Name: 'entity', Value: 'leads' }];
  const Metric = { Namespace: 'crm-export-prod', MetricName: 'RunsEnded', Dimensions };
  expect(asked).toEqual([
    [
      { Id: 'e', Expression: 'EPOCH(m)', Period: 3600 },
      { Id: 'm', MetricStat: { Metric, Period: 3600, Stat: 'Sum' }, ReturnData: false },
    ],
  ]);
});

test('an expression that CloudWatch refuses does not hold, and the widget is named', async () => {
  const message = "Error in expression 'e': Unsupported operand type(s) for FILL";
  const { result } = await dashboard(jsonError(400, 'ValidationError', message));

  expect(result).toMatchObject({ ok: false, found: `"last published": ${message}` });
});

test('an expression that CloudWatch could not evaluate just now is not checked', async () => {
  const { result } = await dashboard(json({ MetricDataResults: [{ Id: 'e', StatusCode: 'InternalError' }] }));

  expect(result).toMatchObject({ ok: null, why: 'CloudWatch did not evaluate (InternalError)' });
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
    return { ok: true, found: 'arrived', why: null };
  });

  expect(result).toEqual({ ok: false, found: 'could not be removed: rule', why: 'Remove it by hand.' });
  expect(removed).toEqual(['queue']);
});
