import { expect, test } from 'vitest';
import { checked } from '../../../cli/health/check.ts';
import {
  LEFT_OVERS,
  reasonFor,
  removeLeftOvers,
  TEMPORARY_PREFIX,
  temporaryName,
} from '../../../cli/health/verify-temporary.ts';
import { clockAt } from '../../support/clock.ts';
import { type Answers, refused, xml } from '../support/cloud/answers.ts';
import { awsWithTarget } from '../support/cloud/cloud.ts';
import { OUTPUTS } from '../support/cloud/stack.ts';

/** Tests AWS's answers about resources that a verify made and removed. Local clouds forget these at once. */

const TOPIC = OUTPUTS.AlarmTopicArn;
const OURS = '20261122T020000Z-0a0a0a';
/** Another verify that started just now, and one that must have ended. */
const OTHER = '20261122T020000Z-0b0b0b';
const KILLED = '20261120T020000Z-0c0c0c';
clockAt('2026-11-22T02:00:05Z');

const queues = (...ids: string[]) => ({
  QueueUrls: ids.map((id) => `http://127.0.0.1/000000000000/crm-export-test_verify_${id}`),
});

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
  const { target, calls } = await awsWithTarget({ ...NOTHING, ...answers });
  const [found] = await checked(LEFT_OVERS, () => removeLeftOvers({ target, id: OURS }), { deployment: 'test' });
  const asked = (operation: string) => calls.filter((call) => call.operation === operation).map(({ input }) => input);
  return { found, asked };
}

test('removes what this verify made and what a killed one left, but not what another one makes now', async () => {
  const { found, asked } = await leftOvers({ ListQueues: queues(OURS, OTHER, KILLED), DeleteQueue: {} });

  expect(asked('DeleteQueue').map(({ QueueUrl }) => QueueUrl)).toEqual(queues(OURS, KILLED).QueueUrls);
  expect(found).toMatchObject({
    verdict: 'holds',
    found: `nothing temporary is left; removed of an earlier verify: queue crm-export-test_verify_${KILLED}`,
  });
});

const mayNot = (right: string) => refused('AccessDenied', `not authorized to perform: ${right}`, { status: 403 });

test.each<[string, Answers, string]>([
  ['that no longer exists counts as removed', { DeleteQueue: refused('QueueDoesNotExist') }, 'holds'],
  ['that cannot be removed is broken', { DeleteQueue: refused('InternalError') }, 'broken'],
  ['without the right to remove it is broken', { DeleteQueue: mayNot('sqs:DeleteQueue') }, 'broken'],
  ['without the right to list queues is unknown', { ListQueues: mayNot('sqs:ListQueues') }, 'unknown'],
])('a queue %s', async (_, answers, verdict) => {
  expect((await leftOvers({ ListQueues: queues(OURS), ...answers })).found).toMatchObject({ verdict });
});

const OBJECT: Answers = {
  // The fake bucket calls every list so.
  ListObjectsV2: xml(`<r><Version><Key>${TEMPORARY_PREFIX}${OURS}</Key><VersionId>v1</VersionId></Version></r>`),
};

test('what could not be removed is named by the text that all names have', async () => {
  const { found } = await leftOvers({
    ListQueues: queues(OURS),
    DeleteQueue: refused('InternalError'),
    ...OBJECT,
    DeleteObject: refused('InternalError', 'no', { status: 501 }),
  });

  const named = /what has (\S+) in its name/.exec(found?.advice ?? '')?.[1] ?? expect.unreachable();
  expect(TEMPORARY_PREFIX).toContain(named);
  expect(temporaryName('crm-export-test', OURS)).toContain(named);
});

test('names the right to delete a version if AWS does not', async () => {
  const { found } = await leftOvers({
    ...OBJECT,
    DeleteObject: refused('AccessDenied', 'Access Denied', { status: 403 }),
  });

  expect(found).toMatchObject({
    verdict: 'broken',
    advice: expect.stringMatching(/; lacking: s3:DeleteObjectVersion\.$/),
  });
});

test('skips a subscription that is not confirmed yet or is deleted', async () => {
  const members = ['PendingConfirmation', 'Deleted', `${TOPIC}:1`].map(
    (arn) =>
      `<member><SubscriptionArn>${arn}</SubscriptionArn><Endpoint>arn:aws:sqs:us-east-1:000000000000:crm-export-test_verify_${OURS}</Endpoint></member>`,
  );
  const { found, asked } = await leftOvers({
    ListSubscriptionsByTopic: subscriptions(members.join('')),
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
  expect(found).toMatchObject({ verdict: 'holds', found: 'nothing temporary is left' });
});
