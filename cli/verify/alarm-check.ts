import { SetAlarmStateCommand, type StateValue } from '@aws-sdk/client-cloudwatch';
import { SubscribeCommand, UnsubscribeCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand, DeleteQueueCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod/mini';
import { parseJson } from '../../core/json.ts';
import type { Check } from '../checks/check.ts';
import { broken, CannotTell, type Finding, holds } from '../checks/finding.ts';
import { deployedAlarms, type Noting, reasonFor, removingAll, temporaryName } from './temporary.ts';
import { lookUntil, type Verifying } from './verifying.ts';

export const ALARM_CHECK: Check<Verifying> = {
  id: 'alarm',
  question: 'Does an alarm that is set by hand arrive in a temporary queue that hears of the topic?',
  rights: [
    'cloudwatch:DescribeAlarms on `*`',
    'cloudwatch:SetAlarmState on alarms named `crm-export-NAME-*`',
    'sns:Subscribe on the topic of the alarms',
    'sns:Unsubscribe on the topic of the alarms',
    'sqs:CreateQueue on queues named `crm-export-NAME_verify_*`',
    'sqs:ReceiveMessage on queues named `crm-export-NAME_verify_*`',
    'sqs:DeleteQueue on queues named `crm-export-NAME_verify_*`',
  ],
  makes: true,
  look: alarm,
};

/**
 * Finds an alarm with an action on ALARM alone, and not in it: setting it back mails nobody, and setting it changes
 * something.
 */
async function quietAlarm(verifying: Verifying) {
  const topic = verifying.target.AlarmTopicArn;
  const one = (await deployedAlarms(verifying)).find(
    ({ StateValue, AlarmActions = [], OKActions = [], InsufficientDataActions = [] }) =>
      StateValue !== 'ALARM' && AlarmActions.includes(topic) && OKActions.length + InsufficientDataActions.length === 0,
  );
  if (one?.AlarmName) return { name: one.AlarmName, before: one.StateValue ?? 'OK' };
  throw new CannotTell('every alarm that could be set is raised already');
}

/**
 * A minute, which the policy of a new queue may take to count: what is told before is lost
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html).
 */
const LOOKS_A_SETTING = 12;

async function alarm(verifying: Verifying): Promise<Finding> {
  const { target, id } = verifying;
  if (!verifying.alarm) throw new CannotTell('it mails everybody who hears of alarms: add --alarm');
  const { name, before } = await quietAlarm(verifying);
  return removingAll(async (made) => {
    const QueueUrl = await queueThatHears(verifying, temporaryName(target.stack, id), made);
    const set = (StateValue: StateValue, StateReason: string) =>
      target.cloudwatch.send(new SetAlarmStateCommand({ AlarmName: name, StateValue, StateReason }));
    made(`the state of ${name}, which was ${before}`, () => set(before, 'Set back by verify'));
    let nextAt = 0;
    const heard = await lookUntil(
      async () => {
        if (performance.now() >= nextAt) {
          // Only a change of its state is told.
          if (nextAt > 0) await set(before, reasonFor(before));
          await set('ALARM', reasonFor(before));
          nextAt = performance.now() + verifying.pace.everyMs * LOOKS_A_SETTING;
        }
        return messageAbout(verifying, QueueUrl, name);
      },
      Boolean,
      verifying,
    );
    if (heard) return holds(`${name} arrived in the queue; it is ${before} again`);
    return broken(`${name} did not arrive in the queue`, 'CloudWatch should tell the topic, and the topic the queue.');
  });
}

async function queueThatHears({ target }: Verifying, QueueName: string, made: Noting): Promise<string> {
  const { sqs, sns, AlarmTopicArn: TopicArn } = target;
  const arn = TopicArn.replace(/:sns:/, ':sqs:').replace(/[^:]*$/, QueueName);
  const statement = {
    Effect: 'Allow',
    Principal: { Service: 'sns.amazonaws.com' },
    Action: 'sqs:SendMessage',
    Resource: arn,
    Condition: { ArnEquals: { 'aws:SourceArn': TopicArn } },
  };
  const Policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName, Attributes: { Policy } }));
  made(`queue ${QueueName}`, () => sqs.send(new DeleteQueueCommand({ QueueUrl })));
  const subscribe = new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: arn, ReturnSubscriptionArn: true });
  const { SubscriptionArn } = await sns.send(subscribe);
  made(`subscription of ${QueueName}`, () => sns.send(new UnsubscribeCommand({ SubscriptionArn })));
  return QueueUrl;
}

const envelopeSchema = z.object({ Message: z.string() });
const messageSchema = z.object({ AlarmName: z.string(), NewStateValue: z.string() });

async function messageAbout({ target }: Verifying, QueueUrl: string, name: string): Promise<boolean> {
  const look = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 });
  const { Messages = [] } = await target.sqs.send(look);
  const told = Messages.map(({ Body }) => parseJson(messageSchema, parseJson(envelopeSchema, Body)?.Message));
  return told.some((message) => message?.AlarmName === name && message.NewStateValue === 'ALARM');
}
