import { paginateListSubscriptionsByTopic, type Subscription } from '@aws-sdk/client-sns';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Target } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { type Check, ok, orWarning, warning } from './check.ts';

const ID = 'alarms';

/**
 * Whether alarms reach anybody. A night works without, so this never fails. Addresses are counted, not shown.
 */
export async function alarmsCheck(
  { sns, AlarmTopicArn }: Pick<Target, 'sns' | 'AlarmTopicArn'>,
  addresses: string[] = [],
): Promise<Check> {
  if (!AlarmTopicArn) return warning(ID, 'The stack is of a release without alarms.', 'Deploy again.');
  return orWarning(ID, 'Who hears of alarms could not be looked at.', async () => {
    const subscriptions: Subscription[] = [];
    for await (const page of paginateListSubscriptionsByTopic({ client: sns }, { TopicArn: AlarmTopicArn })) {
      subscriptions.push(...(page.Subscriptions ?? []));
    }
    return subscriptionsCheck(subscriptions, AlarmTopicArn, addresses);
  });
}

/** Mails link the runbook: a path is no link. A local cloud sends no mail. */
export function runbookUrlChecks({ local, alarms }: Pick<Deployment, 'local' | 'alarms'>): Check[] {
  const { runbookUrl } = alarms;
  if (local || /^https:\/\//.test(runbookUrl)) return [];
  const advice = 'Set alarms.runbookUrl to the https address at which docs/runbook.md is read, and deploy.';
  return [warning('runbook', `Alarms link their entries at ${runbookUrl}, which is no https address.`, advice)];
}

function subscriptionsCheck(subscriptions: Subscription[], topic: string, addresses: string[]): Check {
  const waits = ({ SubscriptionArn = '' }: Subscription) => /^pending ?confirmation$/i.test(SubscriptionArn);
  const hears = ({ SubscriptionArn = '' }: Subscription) => SubscriptionArn.startsWith('arn:');
  const open = subscriptions.filter(waits).length;
  const confirmed = subscriptions.filter(hears).length;
  const known = subscriptions.filter((one) => waits(one) || hears(one)).map(({ Endpoint }) => Endpoint?.toLowerCase());
  const lapsed = addresses.filter((address) => !known.includes(address.toLowerCase())).length;
  // A deployment subscribes an address once: a lapsed subscription does not come back with the next.
  const subscribe = `aws sns subscribe --topic-arn ${topic} --protocol email --notification-endpoint ADDRESS`;
  if (confirmed + open === 0) {
    return warning(
      ID,
      'Nobody hears of alarms: their topic has no address, or none that was confirmed in time.',
      `Set alarms.email in the configuration and deploy; where it has an address already: ${subscribe}.`,
    );
  }
  const text = [
    `Alarms go to ${manyText(confirmed, 'confirmed subscription')}`,
    ...(open > 0 ? [`${open} ${isOrAre(open)} not confirmed yet`] : []),
    ...(lapsed > 0 ? [`${lapsed} of alarms.email ${isOrAre(lapsed)} not subscribed`] : []),
  ].join('; ');
  if (open + lapsed === 0) return ok(ID, `${text}.`);
  const confirm =
    'Follow the link in the mail "AWS Notification - Subscription Confirmation", which is good for two days; after that';
  const deploy = 'Deploy, if the address is new in the configuration; else';
  const advice = [...(open > 0 ? [confirm] : []), ...(lapsed > 0 ? [deploy] : [])];
  return warning(ID, `${text}.`, advice.map((what) => `${what}: ${subscribe}.`).join(' '));
}

function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}
