import { createHash } from 'node:crypto';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { S3Client } from '@aws-sdk/client-s3';
import { SNSClient } from '@aws-sdk/client-sns';
import { SQSClient } from '@aws-sdk/client-sqs';
import { expect, test } from 'vitest';
import { stackOf } from '../../../cli/health/deployed-stack.ts';
import { checked } from '../../../cli/health/health-check.ts';
import { ALL_CHECKS } from '../../../cli/health/verify.ts';
import type { Verifying } from '../../../cli/health/verify-export.ts';
import { LEFT_OVERS, reasonFor } from '../../../cli/health/verify-starts.ts';
import { type Answers, refused, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

/** Tests AWS's answers about resources that a verify made and removed. Local clouds forget these at once. */

const TOPIC = 'arn:aws:sns:us-east-1:000000000000:alarms';
const alarm = (name: string, StateValue: string, more: object = {}) => {
  return { AlarmName: name, StateValue, StateReason: reasonFor('OK'), AlarmActions: [TOPIC], ...more };
};

async function cloud(answers: Answers) {
  const { client, calls, target: whole } = await aws(answers);
  const [cloudwatch, events] = [client(CloudWatchClient), client(EventBridgeClient)];
  const [s3, sns, sqs] = [client(S3Client), client(SNSClient), client(SQSClient)];
  const target = { ...whole, cloudwatch, events, s3, sns, sqs, AlarmTopicArn: TOPIC };
  const of = (name: string) => {
    return { logicalId: name, type: 'AWS::CloudWatch::Alarm', properties: { AlarmName: name }, physicalId: name };
  };
  const stack = stackOf(['crm-export-test-A', 'crm-export-test-B'].map(of));
  const asked = (operation: string) => calls.filter((call) => call.operation === operation).map(({ input }) => input);
  return { target, stack, asked };
}

const NOTHING: Answers = {
  ListRules: { Rules: [] },
  DescribeAlarms: { MetricAlarms: [] },
  ListQueues: {},
  ListSubscriptionsByTopic: subscriptions(''),
};

function subscriptions(members: string) {
  const list = `<Subscriptions>${members}</Subscriptions>`;
  return xml(
    `<ListSubscriptionsByTopicResponse><ListSubscriptionsByTopicResult>${list}</ListSubscriptionsByTopicResult></ListSubscriptionsByTopicResponse>`,
  );
}

async function leftOvers(answers: Answers) {
  const { target, stack, asked } = await cloud({ ...NOTHING, ...answers });
  const [found] = await checked(LEFT_OVERS, { target, stack, ofAnother: [] }, { deployment: 'test' });
  return { found, asked };
}

test('a queue that AWS still lists a minute after its removal, and no longer has, counts as removed', async () => {
  const QueueUrls = ['http://127.0.0.1/000000000000/crm-export-test_verify_1'];
  const gone = refused('QueueDoesNotExist', 'The specified queue does not exist.');

  const { found } = await leftOvers({ ListQueues: { QueueUrls }, DeleteQueue: gone });

  expect(found).toMatchObject({ verdict: 'holds' });
});

test('a queue that cannot be removed does not hold', async () => {
  const QueueUrls = ['http://127.0.0.1/000000000000/crm-export-test_verify_1'];

  const { found } = await leftOvers({ ListQueues: { QueueUrls }, DeleteQueue: refused('InternalError') });

  expect(found).toMatchObject({ verdict: 'broken' });
});

test('a subscription that waits to be confirmed, or is deleted, is passed over', async () => {
  const members = ['PendingConfirmation', 'Deleted', `${TOPIC}:1`].map(
    (arn) =>
      `<member><SubscriptionArn>${arn}</SubscriptionArn><Endpoint>arn:aws:sqs:us-east-1:000000000000:crm-export-test_verify_1</Endpoint></member>`,
  );
  const { found, asked } = await leftOvers({
    ListSubscriptionsByTopic: subscriptions(members.join('')),
    Unsubscribe: xml('<UnsubscribeResponse/>'),
  });

  expect(asked('Unsubscribe').map(({ SubscriptionArn }) => SubscriptionArn)).toEqual([`${TOPIC}:1`]);
  expect(found).toMatchObject({ verdict: 'holds' });
});

test('alarms of this deployment are set back, on whatever page; those of another whose name begins so are not', async () => {
  const pages: Answers = {
    DescribeAlarms: ({ input }) =>
      input.NextToken
        ? { MetricAlarms: [alarm('crm-export-test-B', 'ALARM')] }
        : {
            MetricAlarms: [alarm('crm-export-test-2-A', 'ALARM'), alarm('crm-export-test-A', 'OK')],
            NextToken: 'more',
          },
    SetAlarmState: {},
  };
  const { found, asked } = await leftOvers(pages);

  expect(asked('SetAlarmState').map(({ AlarmName, StateValue }) => [AlarmName, StateValue])).toEqual([
    ['crm-export-test-B', 'OK'],
  ]);
  expect(found).toMatchObject({ verdict: 'holds', found: 'removed only now: alarm crm-export-test-B' });
});

test('an alarm is set again while the policy of the queue does not count yet, and set back at the end', async () => {
  let raised = 0;
  const told = { AlarmName: 'crm-export-test-A', NewStateValue: 'ALARM' };
  const Body = JSON.stringify({ Message: JSON.stringify(told) });
  const MD5OfBody = createHash('md5').update(Body).digest('hex');
  const { target, stack, asked } = await cloud({
    DescribeAlarms: { MetricAlarms: [alarm('crm-export-test-A', 'OK')] },
    SetAlarmState: ({ input }) => {
      raised += input.StateValue === 'ALARM' ? 1 : 0;
      return {};
    },
    CreateQueue: { QueueUrl: 'http://127.0.0.1/000000000000/q' },
    Subscribe: xml(
      `<SubscribeResponse><SubscribeResult><SubscriptionArn>${TOPIC}:1</SubscriptionArn></SubscribeResult></SubscribeResponse>`,
    ),
    ReceiveMessage: () => (raised > 1 ? { Messages: [{ Body, MD5OfBody }] } : {}),
    Unsubscribe: xml('<UnsubscribeResponse/>'),
    DeleteQueue: {},
  });
  const check = ALL_CHECKS.find(({ id }) => id === 'alarm') ?? expect.unreachable();
  const { signal } = new AbortController();
  const pace = { everyMs: 5, patienceMs: 5000, runMs: 0 };
  const verifying = { target, stack, id: 'test', alarm: true, pace, signal } as Verifying;

  const [found] = await checked(check, verifying, { deployment: 'test' });

  expect(found).toMatchObject({ verdict: 'holds' });
  expect(asked('SetAlarmState').map(({ StateValue }) => StateValue)).toEqual(['ALARM', 'OK', 'ALARM', 'OK']);
});
