import {
  type MetricAlarm,
  paginateDescribeAlarms,
  SetAlarmStateCommand,
  type StateValue,
} from '@aws-sdk/client-cloudwatch';
import {
  DeleteRuleCommand,
  ListRulesCommand,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import { DeleteObjectCommand, ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { DescribeExecutionCommand, ListExecutionsCommand } from '@aws-sdk/client-sfn';
import { paginateListSubscriptionsByTopic, SubscribeCommand, UnsubscribeCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand, DeleteQueueCommand, ListQueuesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod/mini';
import { parseJson } from '../../core/json.ts';
import { REWRITE } from '../support/aws-error.ts';
import type { Target } from '../support/target.ts';
import { textOf } from './deployed-stack.ts';
import { broken, CannotTell, type Check, type Finding, holds, missingRight, unknown } from './health-check.ts';
import { deployedRules, RULE_RIGHTS } from './nightly-rules.ts';
import { lookUntil, type Verifying } from './verify-export.ts';

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
 * Finds an alarm that is not in ALARM and has actions for ALARM only. Setting it changes its state, and setting it back
 * sends no mail.
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
 * One minute. A new queue policy may take this long to apply, and messages sent before are lost
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
          // CloudWatch sends a message only if the state changes.
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

/** Whether the role of the nightly rules may start the machine: otherwise only the first night would show it. */
export const RULE_START: Check<Verifying> = {
  id: 'rule-start',
  question: 'Does a temporary rule with the role of the nightly rules start a run?',
  rights: [
    ...RULE_RIGHTS,
    'events:PutRule on rules named `crm-export-NAME_verify_*`',
    'events:PutTargets on rules named `crm-export-NAME_verify_*`',
    'events:RemoveTargets on rules named `crm-export-NAME_verify_*`',
    'events:DeleteRule on rules named `crm-export-NAME_verify_*`',
    'iam:PassRole on the role of the rules, to EventBridge',
    'states:ListExecutions on ExportRun',
    'states:DescribeExecution on executions of ExportRun',
  ],
  makes: true,
  look: ruleStart,
};

/** Allowance for a difference between two clocks. */
const CLOCK_MS = 60_000;

async function ruleStart(verifying: Verifying): Promise<Finding> {
  const { target, id } = verifying;
  const [rule] = await deployedRules(verifying);
  if (!rule?.role) throw new CannotTell('no nightly rule has a role');
  const name = temporaryName(target.stack, id);
  // Checks the right to remove the rule before making one that fires every minute.
  await removeRule(target, name);
  return removingAll(async (made) => {
    made(`rule ${name}`, () => removeRule(target, name));
    return started(verifying, name, rule.role);
  });
}

async function started(verifying: Verifying, Name: string, RoleArn: string): Promise<Finding> {
  const { target, id, runs } = verifying;
  const since = new Date(Date.now() - CLOCK_MS);
  // A run with this input requests no export: it ends in InvalidInput. A rule may start one more after its removal.
  const Input = JSON.stringify({ verify: id });
  const goal = { Id: RULE_TARGET, Arn: target.StateMachineArn, RoleArn, Input };
  // A `rate` starts to count when the rule is made; this `cron` fires at the next full minute.
  const every = { ScheduleExpression: 'cron(* * * * ? *)', Description: 'Temporary, of verify: to be deleted' };
  await target.events.send(new PutRuleCommand({ Name, ...every }));
  const { FailedEntries = [] } = await target.events.send(new PutTargetsCommand({ Rule: Name, Targets: [goal] }));
  if (FailedEntries.length > 0) return broken(`${Name} took no target`, 'Look again.');
  const run = await lookUntil(() => startedBy(verifying, Input, since), Boolean, verifying);
  if (run) runs.names.push(run);
  if (run) return holds(`${Name} started ${run}, which fails in InvalidInput`);
  const should = `It should start a run within a minute. If the role of the rules may not start the machine, ${REWRITE}.`;
  return broken(`${Name} started no run`, should);
}

/** The name of the run with this input. */
async function startedBy({ target }: Verifying, input: string, since: Date): Promise<string | undefined> {
  const look = { stateMachineArn: target.StateMachineArn, maxResults: 50 };
  const { executions = [] } = await target.sfn.send(new ListExecutionsCommand(look));
  for (const { executionArn, name, startDate } of executions) {
    if (!startDate || startDate < since) continue;
    const execution = await target.sfn.send(new DescribeExecutionCommand({ executionArn }));
    if (execution.input === input) return name;
  }
  return undefined;
}

/**
 * Temporary objects that verify makes and removes. It finds them by name, so it also removes those of an earlier verify
 * that was killed. The underscore occurs in no deployment name: `crm-export-a-verify-x` could be another deployment.
 */

/** Prefix of the keys of temporary objects. */
export const TEMPORARY_PREFIX = 'verify_/';

/** The name of a temporary rule or queue. */
export function temporaryName(stack: string, id: string): string {
  return `${stack}_verify_${id}`;
}

const REASON = 'Set by hand for verify; it was ';

/** The state reason of an alarm that verify sets. It names the former state, to which the alarm is set back. */
export function reasonFor(before: string): string {
  return `${REASON}${before}`;
}

/**
 * Removes a rule, if it exists.
 * @throws errors of AWS, also for a missing right: a caller that is about to make a rule learns this early
 */
async function removeRule({ events }: Pick<Target, 'events'>, Name: string): Promise<void> {
  await events.send(new RemoveTargetsCommand({ Rule: Name, Ids: [RULE_TARGET] })).catch(unlessGone);
  await events.send(new DeleteRuleCommand({ Name })).catch(unlessGone);
}

const RULE_TARGET = 'verify';

/** Ignores that an object is gone: AWS lists a queue for a minute after its removal, and a subscription for longer. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Error && /NotFound|DoesNotExist|NonExistent/.test(error.name))) throw error;
}

/** @returns the names of the removed rules */
async function removeRules({ events, stack }: Target): Promise<string[]> {
  const { Rules = [] } = await events.send(new ListRulesCommand({ NamePrefix: temporaryName(stack, '') }));
  for (const { Name = '' } of Rules) await removeRule({ events }, Name);
  return Rules.map(({ Name }) => `rule ${Name}`);
}

/** Sets alarms of this deployment that verify has set back to their former state. @returns their descriptions */
async function resetAlarms(place: Pick<Verifying, 'target' | 'stack'>): Promise<string[]> {
  const ours = (await deployedAlarms(place)).filter(
    ({ StateValue, StateReason }) => StateValue === 'ALARM' && StateReason?.startsWith(REASON),
  );
  for (const { AlarmName, StateReason = '' } of ours) {
    const before = StateReason.slice(REASON.length) as StateValue;
    const back = { AlarmName, StateValue: before, StateReason: 'Set back by verify' };
    await place.target.cloudwatch.send(new SetAlarmStateCommand(back));
  }
  return ours.map(({ AlarmName }) => `alarm ${AlarmName}`);
}

/** @returns descriptions of the removed subscriptions */
async function removeSubscriptions({ sns, stack, AlarmTopicArn: TopicArn }: Target): Promise<string[]> {
  const removed: string[] = [];
  for await (const page of paginateListSubscriptionsByTopic({ client: sns }, { TopicArn })) {
    for (const { SubscriptionArn = '', Endpoint = '' } of page.Subscriptions ?? []) {
      // With `PendingConfirmation` or `Deleted` instead of an ARN, AWS refuses to remove the subscription.
      if (!Endpoint.includes(`:${temporaryName(stack, '')}`) || !SubscriptionArn.startsWith('arn:')) continue;
      await sns.send(new UnsubscribeCommand({ SubscriptionArn })).catch(unlessGone);
      removed.push(`subscription of ${Endpoint.split(':').at(-1)}`);
    }
  }
  return removed;
}

/** @returns descriptions of the removed queues */
async function removeQueues({ sqs, stack }: Target): Promise<string[]> {
  const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: temporaryName(stack, '') }));
  for (const QueueUrl of QueueUrls) await sqs.send(new DeleteQueueCommand({ QueueUrl })).catch(unlessGone);
  return QueueUrls.map((url) => `queue ${url.split('/').at(-1)}`);
}

/** @returns descriptions of the removed objects */
async function removeObjects({ s3, BucketName: Bucket }: Target): Promise<string[]> {
  const { Versions = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket, Prefix: TEMPORARY_PREFIX }));
  for (const { Key, VersionId } of Versions) await s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
  return Versions.map(({ Key }) => `object ${Key}`);
}

/** The rights that the removal of all temporary objects needs. */
const REMOVING_RIGHTS = [
  'events:ListRules on the rules',
  'events:RemoveTargets on rules named `crm-export-NAME_verify_*`',
  'events:DeleteRule on rules named `crm-export-NAME_verify_*`',
  'cloudwatch:DescribeAlarms on `*`',
  'cloudwatch:SetAlarmState on alarms named `crm-export-NAME-*`',
  'sns:ListSubscriptionsByTopic on the topic of the alarms',
  'sns:Unsubscribe on the topic of the alarms',
  'sqs:ListQueues on `*`',
  'sqs:DeleteQueue on queues named `crm-export-NAME_verify_*`',
  's3:ListBucketVersions on the bucket',
  's3:DeleteObjectVersion on `verify_/*`',
];

/** Removes all temporary objects, each even if others fail. @returns what it removed, and the errors */
export async function removeTemporary(
  place: Pick<Verifying, 'target' | 'stack'>,
): Promise<{ removed: string[]; errors: unknown[] }> {
  const each = [removeRules, removeSubscriptions, removeQueues, removeObjects].map((remove) => remove(place.target));
  const settled = await Promise.allSettled([...each, resetAlarms(place)]);
  return {
    removed: settled.flatMap((one) => (one.status === 'fulfilled' ? one.value : [])),
    errors: settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : [])),
  };
}

/** Records that an object was made, and the function that removes it. */
type Noting = (what: string, remove: () => Promise<unknown>) => void;

/** Removes the recorded objects in reverse order, also after an error. The finding lists those that remain. */
export async function removingAll(work: (made: Noting) => Promise<Finding>): Promise<Finding> {
  const all: { what: string; remove: () => Promise<unknown> }[] = [];
  const [result] = await Promise.allSettled([work((what, remove) => all.unshift({ what, remove }))]);
  const stays: string[] = [];
  for (const { what, remove } of all) await remove().catch(() => stays.push(what));
  if (stays.length > 0) return broken(`could not be removed: ${stays.join(', ')}`, 'Remove it by hand.');
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

/** The alarms of the template with their current state in the account. */
async function deployedAlarms({ target, stack }: Pick<Verifying, 'target' | 'stack'>): Promise<MetricAlarm[]> {
  const names = stack.ofType('AWS::CloudWatch::Alarm').map((alarm) => textOf(alarm, 'AlarmName'));
  const alarms: MetricAlarm[] = [];
  // The prefix also matches alarms of other deployments: those of `prod-2` for `prod`.
  const look = { AlarmNamePrefix: `${target.stack}-` };
  for await (const page of paginateDescribeAlarms({ client: target.cloudwatch }, look)) {
    alarms.push(...(page.MetricAlarms ?? []).filter(({ AlarmName = '' }) => names.includes(AlarmName)));
  }
  return alarms;
}

interface Left extends Pick<Verifying, 'target' | 'stack'> {
  /** Names of the objects that an earlier verify left. */
  ofAnother: string[];
}

/** Made after all other checks: looks once more for temporary objects, and removes them. */
export const LEFT_OVERS: Check<Left> = {
  id: 'left-overs',
  question: 'Is everything temporary gone?',
  rights: REMOVING_RIGHTS,
  look: leftOvers,
};

async function leftOvers({ ofAnother, ...place }: Left): Promise<Finding> {
  const { removed, errors } = await removeTemporary(place);
  const earlier = ofAnother.length > 0 ? `; removed of an earlier verify: ${ofAnother.join(', ')}` : '';
  const rights = errors.flatMap((error) => missingRight(error) ?? []);
  if (rights.length < errors.length || rights.some((right) => !/:(List|Describe)/.test(right))) {
    const lacking = rights.length > 0 ? `; lacking: ${rights.join(', ')}` : '';
    return broken(`not all could be removed${earlier}`, `Remove by hand what has _verify_ in its name${lacking}.`);
  }
  if (rights.length > 0) return unknown(`these credentials lack the right ${rights.join(', ')}${earlier}`);
  const found = removed.length > 0 ? `removed only now: ${removed.join(', ')}` : 'nothing temporary is left';
  return holds(`${found}${earlier}`);
}
