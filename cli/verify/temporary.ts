import {
  type MetricAlarm,
  paginateDescribeAlarms,
  SetAlarmStateCommand,
  type StateValue,
} from '@aws-sdk/client-cloudwatch';
import { DeleteRuleCommand, ListRulesCommand, RemoveTargetsCommand } from '@aws-sdk/client-eventbridge';
import { DeleteObjectCommand, ListObjectVersionsCommand } from '@aws-sdk/client-s3';
import { paginateListSubscriptionsByTopic, UnsubscribeCommand } from '@aws-sdk/client-sns';
import { DeleteQueueCommand, ListQueuesCommand } from '@aws-sdk/client-sqs';
import type { Check } from '../checks/check.ts';
import { textOf } from '../checks/deployed-stack.ts';
import { broken, type Finding, holds, unknown } from '../checks/finding.ts';
import { missingRight } from '../checks/finding-of.ts';
import type { Target } from '../support/target.ts';
import type { Verifying } from './verifying.ts';

/**
 * What a verify makes and removes again. Each removal finds its things by their names, so that a verify removes what an earlier
 * one, killed, has left. With an underscore, which no deployment has in its name: `crm-export-a-verify-x` could be of another.
 */

/** What the keys of temporary objects begin with. */
export const TEMPORARY_PREFIX = 'verify_/';

/** The name of a temporary rule or queue. */
export function temporaryName(stack: string, id: string): string {
  return `${stack}_verify_${id}`;
}

const REASON = 'Set by hand for verify; it was ';

/** What an alarm that is set by hand says of itself, by which it is set back. */
export function reasonFor(before: string): string {
  return `${REASON}${before}`;
}

/**
 * Removes a rule, which may not be there.
 * @throws errors of AWS, for want of a right too: so whoever is about to make one finds out
 */
export async function removeRule({ events }: Pick<Target, 'events'>, Name: string): Promise<void> {
  await events.send(new RemoveTargetsCommand({ Rule: Name, Ids: [RULE_TARGET] })).catch(unlessGone);
  await events.send(new DeleteRuleCommand({ Name })).catch(unlessGone);
}

export const RULE_TARGET = 'verify';

/** What is removed may be gone already: AWS lists a queue for a minute after its removal, and a subscription for longer. */
function unlessGone(error: unknown): void {
  if (!(error instanceof Error && /NotFound|DoesNotExist|NonExistent/.test(error.name))) throw error;
}

/** @returns what was there, by name */
async function removeRules({ events, stack }: Target): Promise<string[]> {
  const { Rules = [] } = await events.send(new ListRulesCommand({ NamePrefix: temporaryName(stack, '') }));
  for (const { Name = '' } of Rules) await removeRule({ events }, Name);
  return Rules.map(({ Name }) => `rule ${Name}`);
}

/** The alarms of this deployment that are set by hand, set back to what they were. @returns them, in words */
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

/** @returns what was removed, in words */
async function removeSubscriptions({ sns, stack, AlarmTopicArn: TopicArn }: Target): Promise<string[]> {
  const removed: string[] = [];
  for await (const page of paginateListSubscriptionsByTopic({ client: sns }, { TopicArn })) {
    for (const { SubscriptionArn = '', Endpoint = '' } of page.Subscriptions ?? []) {
      // `PendingConfirmation` or `Deleted`: there is nothing to remove, and AWS refuses it.
      if (!Endpoint.includes(`:${temporaryName(stack, '')}`) || !SubscriptionArn.startsWith('arn:')) continue;
      await sns.send(new UnsubscribeCommand({ SubscriptionArn })).catch(unlessGone);
      removed.push(`subscription of ${Endpoint.split(':').at(-1)}`);
    }
  }
  return removed;
}

/** @returns what was removed, in words */
async function removeQueues({ sqs, stack }: Target): Promise<string[]> {
  const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: temporaryName(stack, '') }));
  for (const QueueUrl of QueueUrls) await sqs.send(new DeleteQueueCommand({ QueueUrl })).catch(unlessGone);
  return QueueUrls.map((url) => `queue ${url.split('/').at(-1)}`);
}

/** @returns what was removed, in words */
async function removeObjects({ s3, BucketName: Bucket }: Target): Promise<string[]> {
  const { Versions = [] } = await s3.send(new ListObjectVersionsCommand({ Bucket, Prefix: TEMPORARY_PREFIX }));
  for (const { Key, VersionId } of Versions) await s3.send(new DeleteObjectCommand({ Bucket, Key, VersionId }));
  return Versions.map(({ Key }) => `object ${Key}`);
}

/** What removing all of it needs. */
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

/** All of it, each whatever becomes of the others. @returns what was there, and the errors of what could not be removed */
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

/** Notes what is made, and how it is removed. */
export type Noting = (what: string, remove: () => Promise<unknown>) => void;

/** Removes what the work has made, the last first, also after an error; what stays is the finding. */
export async function removingAll(work: (made: Noting) => Promise<Finding>): Promise<Finding> {
  const all: { what: string; remove: () => Promise<unknown> }[] = [];
  const [result] = await Promise.allSettled([work((what, remove) => all.unshift({ what, remove }))]);
  const stays: string[] = [];
  for (const { what, remove } of all) await remove().catch(() => stays.push(what));
  if (stays.length > 0) return broken(`could not be removed: ${stays.join(', ')}`, 'Remove it by hand.');
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

/** The alarms of the template, as they are in the account. */
export async function deployedAlarms({ target, stack }: Pick<Verifying, 'target' | 'stack'>): Promise<MetricAlarm[]> {
  const names = stack.ofType('AWS::CloudWatch::Alarm').map((alarm) => textOf(alarm, 'AlarmName'));
  const alarms: MetricAlarm[] = [];
  // Names of another deployment may begin so too: those of `prod-2`, where this is `prod`.
  const look = { AlarmNamePrefix: `${target.stack}-` };
  for await (const page of paginateDescribeAlarms({ client: target.cloudwatch }, look)) {
    alarms.push(...(page.MetricAlarms ?? []).filter(({ AlarmName = '' }) => names.includes(AlarmName)));
  }
  return alarms;
}

interface Left extends Pick<Verifying, 'target' | 'stack'> {
  /** What an earlier verify had left, by name. */
  ofAnother: string[];
}

/** Made after all others: it looks once more for everything temporary, and removes it. */
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
