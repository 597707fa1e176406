import { SetAlarmStateCommand, type StateValue } from '@aws-sdk/client-cloudwatch';
import {
  DeleteRuleCommand,
  ListRulesCommand,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import {
  DeleteObjectCommand,
  ListObjectVersionsCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3';
import { SubscribeCommand, UnsubscribeCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand, DeleteQueueCommand, ListQueuesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import * as z from 'zod/mini';
import { ENTITIES } from '../../core/config/entities.ts';
import { parseJson } from '../../core/json.ts';
import { alarmsOf } from '../deployment-state.ts';
import { executionsOf } from '../runs/find-run.ts';
import { deniedRight, isGone, REWRITE } from '../support/aws-error.ts';
import type { Target } from '../support/target.ts';
import { broken, CannotCheck, type Finding, holds, holdsUnless, type Question, unknown } from './check.ts';
import { ruleTarget, subscriptionsOf } from './night-checks.ts';
import { type Check, pollUntil, unlessLocal, type Verifying } from './verify-export.ts';

/** Checks that create temporary objects in the account, or try to, and the check that removes these objects. */

export const ALARM_CHECK: Check = {
  id: 'alarm',
  question: 'Does the topic deliver an alarm, set by hand, to a temporary queue?',
  rights: [
    'cloudwatch:DescribeAlarms on `*`',
    'cloudwatch:SetAlarmState on alarms named `crm-export-NAME-*`',
    'sns:Subscribe on the topic of the alarms',
    'sqs:CreateQueue on queues named `crm-export-NAME_verify_*`',
    'sqs:ReceiveMessage on queues named `crm-export-NAME_verify_*`',
  ],
  answer: async (verifying) => {
    const { target, id, pace } = verifying;
    if (!verifying.alarm) throw new CannotCheck('skipped, because it mails all subscribers of alarms: add --alarm');
    const { name, before } = await quietAlarm(target);
    // If this check cannot reset the alarm, the check `left-overs` finds it by this reason and resets it.
    const StateReason = reasonFor(id, before);
    const set = (StateValue: StateValue) =>
      target.cloudwatch.send(new SetAlarmStateCommand({ AlarmName: name, StateValue, StateReason }));
    const QueueUrl = await queueThatHears(verifying);
    let nextAt = 0;
    const received = async () => {
      if (performance.now() >= nextAt) {
        // CloudWatch sends a message only if the state changes.
        if (nextAt > 0) await set(before);
        await set('ALARM');
        nextAt = performance.now() + pace.everyMs * POLLS_PER_SETTING;
      }
      return messageAbout(verifying, QueueUrl, name);
    };
    try {
      if (await pollUntil(received, Boolean, verifying)) return holds(`${name} arrived in the queue`);
    } finally {
      // Not left to the last check, minutes later: a person who gets the mail looks at the alarm.
      await set(before).catch(() => undefined);
    }
    return broken(
      `${name} did not arrive in the queue`,
      'CloudWatch should publish to the topic, and the topic should deliver to the queue.',
    );
  },
};

/**
 * One minute. A new queue policy may take this long to apply, and messages sent before are lost
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html).
 */
const POLLS_PER_SETTING = 12;

/**
 * Finds an alarm that is not in ALARM and has actions for ALARM only. Setting it changes its state, and setting it back
 * sends no mail.
 */
async function quietAlarm(target: Target) {
  const one = (await alarmsOf(target)).find(
    ({ StateValue, OKActions = [], InsufficientDataActions = [] }) =>
      StateValue !== 'ALARM' && OKActions.length + InsufficientDataActions.length === 0,
  );
  if (one?.AlarmName) return { name: one.AlarmName, before: one.StateValue ?? 'OK' };
  throw new CannotCheck('every alarm that could be set is raised already');
}

async function queueThatHears({ target, id }: Verifying): Promise<string> {
  const { sqs, sns, stack, AlarmTopicArn: TopicArn } = target;
  const QueueName = temporaryName(stack, id);
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
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: arn }));
  return QueueUrl;
}

const envelopeSchema = z.object({ Message: z.string() });
const messageSchema = z.object({ AlarmName: z.string(), NewStateValue: z.string() });

async function messageAbout({ target }: Verifying, QueueUrl: string, name: string): Promise<boolean> {
  const command = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 });
  const { Messages = [] } = await target.sqs.send(command);
  const messages = Messages.map(({ Body }) => parseJson(messageSchema, parseJson(envelopeSchema, Body)?.Message));
  return messages.some((message) => message?.AlarmName === name && message.NewStateValue === 'ALARM');
}

type Put = Pick<PutObjectCommandInput, 'ServerSideEncryption' | 'SSEKMSKeyId'>;

const TEMPORARY_OBJECT_RIGHTS = ['s3:PutObject on `verify_/*`', 's3:DeleteObjectVersion on `verify_/*`'];

/** Checks of requests that the bucket policy refuses for everyone. */
export const REFUSED_CHECKS: Check[] = [
  {
    id: 'plain-http',
    question: 'Does the bucket refuse an object that is sent by plain http?',
    rights: TEMPORARY_OBJECT_RIGHTS,
    answer: (verifying) => refused(verifying, { 'sent by plain http': {} }, true),
  },
  {
    id: 'foreign-key',
    question: 'Does the bucket refuse an object with another key, or with another kind of encryption?',
    rights: TEMPORARY_OBJECT_RIGHTS,
    answer: (verifying) => {
      const [, partition, , region, account] = verifying.target.StateMachineArn.split(':');
      const SSEKMSKeyId = `arn:${partition}:kms:${region}:${account}:alias/aws/s3`;
      const puts = {
        'encrypted with the key aws/s3': { ServerSideEncryption: 'aws:kms', SSEKMSKeyId },
        'encrypted with AES256': { ServerSideEncryption: 'AES256' },
      } as const;
      return refused(verifying, puts, false);
    },
  },
];

async function refused(verifying: Verifying, puts: Record<string, Put>, plainHttp: boolean): Promise<Finding> {
  const stored: string[] = [];
  for (const [how, put] of Object.entries(puts)) {
    if (!(await isRefused(verifying, put, plainHttp))) stored.push(`the bucket stored an object ${how}`);
  }
  const found = `AccessDenied by the policy of the bucket: ${Object.keys(puts).join(', ')}`;
  const finding = holdsUnless(stored, found, `The policy of the bucket should refuse it. ${REWRITE}.`);
  return unlessLocal(verifying, finding);
}

/** @throws CannotCheck if S3 refuses for another reason than the policy: credentials without the right prove nothing */
async function isRefused({ target, id }: Verifying, put: Put, plainHttp: boolean): Promise<boolean> {
  const { s3, BucketName: Bucket } = target;
  const Key = `${TEMPORARY_PREFIX}${id}`;
  const command = new PutObjectCommand({ Bucket, Key, Body: 'verify', ...put });
  if (plainHttp) {
    const overPlainHttp = ({ request }: { request: unknown }) =>
      Object.assign(request as object, { protocol: 'http:' });
    command.middlewareStack.add((next) => (args) => next({ ...args, request: overPlainHttp(args) }), { step: 'build' });
  }
  try {
    const { VersionId } = await s3.send(command);
    // A plain delete would leave a version and a marker for a day. If it fails, the check `left-overs` repeats it, and
    // reports why it fails.
    await s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId })).catch(() => undefined);
    return false;
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AccessDenied')) throw error;
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/troubleshoot-403-errors.html
    if (/explicit deny in a resource-based policy/.test(error.message)) return true;
    throw new CannotCheck('S3 does not name the bucket policy as the reason: these credentials may lack s3:PutObject');
  }
}

/** Whether the role of the nightly rules may start the machine. Without this check, only the first night would show it. */
export const RULE_START: Check = {
  id: 'rule-start',
  question: 'Does a temporary rule with the role of the nightly rules start a run?',
  rights: [
    'events:ListTargetsByRule on the rules',
    'events:PutRule on rules named `crm-export-NAME_verify_*`',
    'events:PutTargets on rules named `crm-export-NAME_verify_*`',
    'events:RemoveTargets on rules named `crm-export-NAME_verify_*`',
    'events:DeleteRule on rules named `crm-export-NAME_verify_*`',
    'iam:PassRole on the role of the rules, to EventBridge',
    'states:ListExecutions on ExportRun',
    'states:DescribeExecution on executions of ExportRun',
  ],
  answer: async (verifying) => {
    const { target, id, runs } = verifying;
    const { events, stack, StateMachineArn: Arn } = target;
    const { RoleArn } = (await ruleTarget(target, ENTITIES[0])) ?? {};
    if (!RoleArn) throw new CannotCheck(`the rule of ${ENTITIES[0]} has no role`);
    const Name = temporaryName(stack, id);
    // Checks the right to remove the rule before making one that fires every minute.
    await removeRule(target, Name);
    const since = new Date(Date.now() - CLOCK_MS);
    try {
      // A `rate` schedule counts from the creation of the rule. This `cron` schedule fires at the next full minute.
      const every = {
        ScheduleExpression: 'cron(* * * * ? *)',
        Description: 'Temporary, made by verify; may be deleted',
      };
      await events.send(new PutRuleCommand({ Name, ...every }));
      // A run with this input requests no export: it ends in InvalidInput. A rule may start one more after its removal.
      const goal = { Id: RULE_TARGET, Arn, RoleArn, Input: JSON.stringify({ verify: id }) };
      const { FailedEntries = [] } = await events.send(new PutTargetsCommand({ Rule: Name, Targets: [goal] }));
      if (FailedEntries.length > 0) return broken(`the rule ${Name} got no target`, 'Run the command again.');
      const run = await pollUntil(() => startedBy(verifying, since), Boolean, verifying);
      if (!run) return broken(`the rule ${Name} started no run`, NOT_STARTED);
      runs.push(run);
      return holds(`the rule ${Name} started ${run}, which fails on purpose (InvalidInput)`);
    } finally {
      await removeRule(target, Name);
    }
  },
};

const NOT_STARTED = `The role of the rules may lack the right to start the machine. ${REWRITE}.`;
/** Allowance for a difference between two clocks. */
const CLOCK_MS = 60_000;
const RULE_TARGET = 'verify';

async function startedBy({ target, id }: Verifying, since: Date): Promise<string | undefined> {
  for await (const { name, input } of executionsOf(target, { since })) if (input.json.verify === id) return name;
  return undefined;
}

/**
 * Temporary objects are found by their names, which have the id of the verify, so objects of a killed verify are
 * removed too. The underscore occurs in no deployment name: `crm-export-a-verify-x` could be another deployment.
 */

export const TEMPORARY_PREFIX = 'verify_/';

export function temporaryName(stack: string, id: string): string {
  return `${stack}_verify_${id}`;
}

/** The state reason of an alarm that verify sets. It names the former state, to which the alarm is set back. */
export function reasonFor(id: string, before: string): string {
  return `Set by hand for verify ${id}; it was ${before}`;
}

/** A time in the id of a verify: `20261122T020000Z`. */
export function stampOf(time: number): string {
  return new Date(time).toISOString().replace(/[-:]|\.\d+/g, '');
}

/** A verify takes less time than this, so objects of an older verify are left-overs. */
const OLD_MS = 3_600_000;

/** Whether a name has the id of this verify, or of a verify that must have ended. Another verify may be in progress. */
function isToRemove(name: string, id: string): boolean {
  const stamp = /\d{8}T\d{6}Z/.exec(name)?.[0];
  return name.includes(id) || (stamp !== undefined && stamp < stampOf(Date.now() - OLD_MS));
}

/** The last check: removes what the other checks have made, and what a killed verify has left. */
export const LEFT_OVERS: Question = {
  id: 'left-overs',
  question: 'Has verify removed everything that it made?',
  rights: [
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
  ],
};

/** Removes each kind of temporary object. Its name contains the id of the verify that made it. */
export async function removeLeftOvers({ target, id }: Pick<Verifying, 'target' | 'id'>): Promise<Finding> {
  const kinds = [rulesOf, queueSubscriptionsOf, queuesOf, objectsOf, raisedAlarmsOf];
  const removed: string[] = [];
  // Removes each kind, even if another kind cannot be removed.
  const settled = await Promise.allSettled(
    kinds.map(async (find) => {
      for (const { name, remove } of (await find(target)).filter((one) => isToRemove(one.name, id))) {
        await remove().catch(unlessGone);
        removed.push(name);
      }
    }),
  );
  const errors = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  const earlier = removed.filter((name) => !name.includes(id));
  const also = earlier.length > 0 ? `; also removed, from an earlier verify: ${earlier.join(', ')}` : '';
  const rights = errors.flatMap((error) => deniedRight(error) ?? []);
  if (rights.length < errors.length || rights.some((right) => !/:(List|Describe)/.test(right))) {
    const lacking = rights.length > 0 ? `; these credentials lack ${rights.join(', ')}` : '';
    return broken(
      `verify could not remove everything that it made${also}`,
      `Remove everything with verify_ in its name by hand${lacking}.`,
    );
  }
  if (rights.length > 0) return unknown(`these credentials lack the right ${rights.join(', ')}${also}`);
  return holds(`nothing temporary is left${also}`);
}

/** Ignores an object that no longer exists: AWS lists a removed queue for a minute, and a subscription for longer. */
function unlessGone(error: unknown): void {
  if (!isGone(error)) throw error;
}

async function rulesOf({ events, stack }: Target) {
  const { Rules = [] } = await events.send(new ListRulesCommand({ NamePrefix: temporaryName(stack, '') }));
  return Rules.map(({ Name = '' }) => ({ name: Name, remove: () => removeRule({ events }, Name) }));
}

/**
 * Removes a rule, if it exists.
 * @throws errors of AWS, also for a missing right: a caller that is about to make a rule learns this early
 */
async function removeRule({ events }: Pick<Target, 'events'>, Name: string): Promise<void> {
  await events.send(new RemoveTargetsCommand({ Rule: Name, Ids: [RULE_TARGET] })).catch(unlessGone);
  await events.send(new DeleteRuleCommand({ Name })).catch(unlessGone);
}

async function queueSubscriptionsOf(target: Target) {
  const queues = `:${temporaryName(target.stack, '')}`;
  const ours = (await subscriptionsOf(target)).filter(({ Endpoint }) => Endpoint.includes(queues));
  return ours.map(({ SubscriptionArn, Endpoint }) => ({
    name: `subscription of ${Endpoint.split(':').at(-1)}`,
    remove: () => target.sns.send(new UnsubscribeCommand({ SubscriptionArn })),
  }));
}

async function queuesOf({ sqs, stack }: Target) {
  const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: temporaryName(stack, '') }));
  return QueueUrls.map((QueueUrl) => ({
    name: `queue ${QueueUrl.split('/').at(-1)}`,
    remove: () => sqs.send(new DeleteQueueCommand({ QueueUrl })),
  }));
}

async function objectsOf({ s3, BucketName: Bucket }: Target) {
  const { Versions = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket, Prefix: TEMPORARY_PREFIX }));
  return Versions.map(({ Key = '', VersionId }) => ({
    name: `object ${Key}`,
    remove: () => s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId })),
  }));
}

/** Alarms that a verify has raised. They are not removed but set back to their former state. */
async function raisedAlarmsOf(target: Target) {
  const alarms = await alarmsOf(target);
  return alarms.flatMap(({ AlarmName, StateValue, StateReason = '' }) => {
    const [, id = '', before] = /^Set by hand for verify (\S+); it was (\w+)$/.exec(StateReason) ?? [];
    if (StateValue !== 'ALARM' || !before) return [];
    const back = { AlarmName, StateValue: before as StateValue, StateReason: 'Set back by verify' };
    const remove = () => target.cloudwatch.send(new SetAlarmStateCommand(back));
    return [{ name: `alarm ${AlarmName} of ${id}`, remove }];
  });
}
