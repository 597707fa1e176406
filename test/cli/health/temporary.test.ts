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
import { subscriptions } from '../support/cloud/subscriptions.ts';
import { expectFindings } from '../support/findings.ts';

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
  ListSubscriptionsByTopic: subscriptions([]),
};

async function leftOvers(answers: Answers) {
  const { target, calls } = await awsWithTarget({ ...NOTHING, ...answers });
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

const ROWS: [what: string, answers: Answers][] = [
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
  const findings = ROWS.map(async ([what, answers]) => {
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
