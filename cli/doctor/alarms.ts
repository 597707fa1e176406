import { paginateListSubscriptionsByTopic, type Subscription } from '@aws-sdk/client-sns';
import { mailDigest } from '../../core/config/deployed.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { type Finding, holds, warning } from '../checks/finding.ts';
import type { Target } from '../support/target.ts';
import { manyText } from '../support/text.ts';

/**
 * Whether alarms reach anybody. Addresses are counted, not shown.
 * @param addresses digests of those that are deployed
 */
export async function alarmAddresses(
  { sns, AlarmTopicArn }: Pick<Target, 'sns' | 'AlarmTopicArn'>,
  addresses: string[] = [],
): Promise<Finding> {
  const subscriptions: Subscription[] = [];
  for await (const page of paginateListSubscriptionsByTopic({ client: sns }, { TopicArn: AlarmTopicArn })) {
    subscriptions.push(...(page.Subscriptions ?? []));
  }
  return judged(subscriptions, AlarmTopicArn, addresses);
}

/** Mails link the runbook: a path is no link. A local cloud sends no mail. */
export function runbookUrl({ local, alarms }: Pick<Deployment, 'local' | 'alarms'>): Finding[] {
  const url = alarms.runbookUrl;
  if (local || /^https:\/\//.test(url)) return [];
  const advice = 'Set alarms.runbookUrl to the https address at which docs/runbook.md is read, and deploy.';
  return [warning(`Alarms link their entries at ${url}, which is no https address.`, advice)];
}

function judged(subscriptions: Subscription[], topic: string, addresses: string[]): Finding {
  const waits = ({ SubscriptionArn = '' }: Subscription) => /^pending ?confirmation$/i.test(SubscriptionArn);
  const hears = ({ SubscriptionArn = '' }: Subscription) => SubscriptionArn.startsWith('arn:');
  const open = subscriptions.filter(waits).length;
  const confirmed = subscriptions.filter(hears).length;
  const known = subscriptions
    .filter((one) => waits(one) || hears(one))
    .map(({ Endpoint = '' }) => mailDigest(Endpoint));
  const lapsed = addresses.filter((address) => !known.includes(address)).length;
  // A deployment subscribes an address once: a lapsed subscription does not come back with the next.
  const subscribe = `aws sns subscribe --topic-arn ${topic} --protocol email --notification-endpoint ADDRESS`;
  if (confirmed + open === 0) {
    return warning(
      'Nobody hears of alarms: their topic has no address, or none that was confirmed in time.',
      `Set alarms.email in the configuration and deploy; where it has an address already: ${subscribe}.`,
    );
  }
  const text = [
    `Alarms go to ${manyText(confirmed, 'confirmed subscription')}`,
    ...(open > 0 ? [`${open} ${isOrAre(open)} not confirmed yet`] : []),
    ...(lapsed > 0 ? [`${lapsed} of alarms.email ${isOrAre(lapsed)} not subscribed`] : []),
  ].join('; ');
  if (open + lapsed === 0) return holds(`${text}.`);
  const confirm =
    'Follow the link in the mail "AWS Notification - Subscription Confirmation", which is good for two days; after that';
  const advice = [...(open > 0 ? [confirm] : []), ...(lapsed > 0 ? ['An address whose subscription is gone'] : [])];
  return warning(`${text}.`, advice.map((what) => `${what}: ${subscribe}.`).join(' '));
}

function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}
