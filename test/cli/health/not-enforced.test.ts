import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { stackOf } from '../../../cli/health/deployed-stack.ts';
import { broken, checked } from '../../../cli/health/health-check.ts';
import { ALL_CHECKS } from '../../../cli/health/verify.ts';
import { type Runs, unlessNotEnforced, type Verifying } from '../../../cli/health/verify-export.ts';
import { aRun } from '../support/a-run.ts';
import { type Answers, refused, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

/** A check reports at once what a local cloud does not enforce, if a control request proves it. */

/** The result of a check in a local cloud with these answers, and the requests. */
async function checkedIn(id: string, answers: Answers) {
  const { client, asked, target: whole } = await aws(answers);
  const target = { ...whole, s3: client(S3Client), cloudwatch: client(CloudWatchClient) };
  const run = {
    ...aRun(),
    askedAt: new Date('2026-11-23T01:00:00Z'),
    steps: ['CreateExport'],
    key: 'k',
    manifestKey: 'm',
  };
  // The checks request only the published run.
  const runs = { published: async () => run } as unknown as Runs;
  const stack = stackOf([]);
  const pace = { everyMs: 10, patienceMs: 40, runMs: 0 };
  const { signal } = new AbortController();
  const check = ALL_CHECKS.find((one) => one.id === id) ?? expect.unreachable();
  const verifying = { target, stack, runs, entity: 'leads', id: 'test', pace, signal } as Verifying;
  const [result] = await checked(check, verifying, { deployment: 'test', region: 'eu-west-1' });
  return { ...result, asked };
}

const closed = refused('AccessDenied', 'no', { status: 403 });
const byDefault = xml(
  '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>',
);
const stored = { PutObject: {}, DeleteObject: {} };
/** The bucket's answer about itself. */
const says = (answer: object) => ({ ListObjectsV2: answer });
const uncounted = { GetMetricData: { MetricDataResults: [] } };

test.for<[string, Answers, string]>([
  ['plain-http', { ...stored, ...says({}) }, 'lets whoever has no credentials read the bucket'],
  ['foreign-key', { ...stored, ...says({}) }, 'lets whoever has no credentials read the bucket'],
  ['encryption', { HeadObject: xml(''), ...says(byDefault) }, 'keeps objects that nothing has encrypted'],
  ['metrics', { ...uncounted, ListMetrics: { Metrics: [] } }, 'counts nothing of the runs that it has made'],
])('%s is not enforced where the control request shows it', async ([id, answers, shown]) => {
  expect(await checkedIn(id, answers)).toMatchObject({
    verdict: 'unknown',
    found: expect.stringMatching(new RegExp(`^not enforced here: this cloud .*${shown}$`)),
    advice: null,
  });
});

test.for<[string, Answers]>([
  ['plain-http', { ...stored, ...says(closed) }],
  ['foreign-key', { ...stored, ...says(closed) }],
  ['encryption', { HeadObject: xml(''), ...says(closed) }],
])(
  '%s does not hold in a local cloud whose control request is refused or answered as by AWS',
  async ([id, answers]) => {
    expect(await checkedIn(id, answers)).toMatchObject({ verdict: 'broken' });
  },
);

test('a metric that is late cannot be told yet, and the command asks again', async () => {
  const counted = { ListMetrics: { Metrics: [{ Namespace: 'AWS/States' }] } };
  const { verdict, found, advice, asked } = await checkedIn('metrics', {
    ...counted,
    ...uncounted,
  });

  expect({ verdict, found }).toEqual({
    verdict: 'unknown',
    found: expect.stringMatching(/^no data yet of crm-export-test RunsEnded \{entity=leads, outcome=PUBLISHED\}, /),
  });
  expect(advice).toBe(
    'Some come later than that. Ask again: aws cloudwatch get-metric-statistics --namespace crm-export-test --metric-name RunsEnded --dimensions Name=entity,Value=leads Name=outcome,Value=PUBLISHED --start-time 2026-11-23T01:00:00Z --end-time 2026-11-24T01:00:00Z --period 86400 --statistics SampleCount --region eu-west-1',
  );
  expect(asked.filter((line) => /GetMetricData/.test(line)).length).toBeGreaterThan(2);
});

test.for([undefined, 'https://s3.eu-west-1.amazonaws.com', 'http://127.0.0.1.example.com'])(
  'no control request goes to %s, which is not loopback',
  async (endpoint) => {
    const s3 = new S3Client({ region: 'eu-west-1', ...(endpoint && { endpoint }) });
    const finding = broken('stored', 'Deploy.');

    expect(await unlessNotEnforced({ s3 }, finding, () => expect.unreachable())).toBe(finding);
  },
);
