import { ListTargetsByRuleCommand } from '@aws-sdk/client-eventbridge';
import { paginateListSubscriptionsByTopic } from '@aws-sdk/client-sns';
import { CRM_EXPORT } from '../../core/commands.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { withheldReason } from '../../core/readers/withheld.ts';
import { DAY_MS } from '../../core/schedule/local-time.ts';
import { createManifests, publishedManifests } from '../data/stored-manifests.ts';
import { rulesNotes, rulesOf } from '../deployment-state.ts';
import { RESTORE } from '../support/aws-error.ts';
import type { Target } from '../support/target.ts';
import { countText } from '../support/text.ts';
import { countsText, derivedObjects } from '../tables/derived-objects.ts';
import { about, broken, type Finding, holds, warning } from './check.ts';

/** Findings about a night besides its grant and the CRM: rules, mails of alarms, and the columns of stored objects. */

export const RULES = {
  id: 'rules',
  question: 'Does every nightly rule start the machine as it was deployed?',
  rights: ['events:DescribeRule on the rules', 'events:ListTargetsByRule on the rules'],
};

/** Compares the nightly rules with the deployed configuration. A rule that a person paused also counts as broken. */
export async function rulesFinding(
  target: Pick<Target, 'events' | 'stack' | 'StateMachineArn' | 'UndeliveredStartsUrl'>,
  deployment: Deployment,
): Promise<Finding> {
  const rules = await rulesOf(target, deployment);
  const having = (...states: string[]) => ENTITIES.filter((entity) => states.includes(rules[entity]));
  const queue = target.UndeliveredStartsUrl.split('/').at(-1);
  const differences = await eachOf(having('on', 'paused', 'changed'), async (entity) => {
    const one = await ruleTarget(target, entity);
    return [
      ...(one?.Arn === target.StateMachineArn
        ? []
        : [`the rule of ${entity} does not have the state machine as its only target`]),
      ...(one?.DeadLetterConfig?.Arn?.split(':').at(-1) === queue ? [] : [`the rule of ${entity} lacks its queue`]),
      ...(deployment.entities[entity].enabled ? [] : [`the rule of ${entity} is on, but was deployed as off`]),
    ];
  });
  const wrong = differences.flat();
  const nights = having('on').filter((entity) => deployment.entities[entity].enabled).length;
  const count = nights === ENTITIES.length ? `All ${nights}` : `${nights} of ${ENTITIES.length}`;
  const found = [`${count} entities are exported every night`, ...rulesNotes(rules), ...wrong].join('; ');
  const paused = having('paused');
  const isChanged = wrong.length > 0 || having('withoutRule', 'changed').length > 0;
  if (isChanged || paused.length > 0) {
    const resume = `To switch these rules on: ${CRM_EXPORT} resume ${paused.join(' ')}`;
    const advice = [...(isChanged ? [`${RESTORE}.`] : []), ...(paused.length > 0 ? [resume] : [])];
    return broken(found, advice.join(' '));
  }
  if (nights > 0) return holds(found);
  return warning(found, 'To export every night, set entities.ENTITY.enabled in the configuration and deploy.');
}

/** The only target of the nightly rule of an entity; `undefined` if it has none or several. */
export async function ruleTarget({ events, stack }: Pick<Target, 'events' | 'stack'>, entity: Entity) {
  const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule: `${stack}-${entity}` }));
  return Targets.length === 1 ? Targets[0] : undefined;
}

/**
 * Checks whether alarms reach a person. Addresses are counted, not shown.
 * @param addresses the deployed addresses. Digests, which an earlier release deployed, are ignored.
 */
export async function alarmAddresses(target: TopicTarget, addresses: string[] = []): Promise<Finding> {
  const confirmed = (await subscriptionsOf(target)).map(({ Endpoint }) => Endpoint.toLowerCase());
  const missing = addresses.filter((one) => one.includes('@') && !confirmed.includes(one.toLowerCase())).length;
  // CloudFormation subscribes an address once: the next deployment does not renew a subscription that has ended.
  const subscribe = `aws sns subscribe --topic-arn ${target.AlarmTopicArn} --protocol email --notification-endpoint ADDRESS`;
  const advice = `Confirm with the link in the mail "AWS Notification - Subscription Confirmation", which is valid for two days. To get a new mail: ${subscribe}.`;
  if (confirmed.length === 0) {
    const text = 'Alarms reach no person: the topic has no confirmed subscription.';
    return warning(text, missing > 0 ? advice : 'Set alarms.email in the configuration and deploy.');
  }
  const text = `Alarms go to ${countText(confirmed.length, 'confirmed subscription')}`;
  if (missing === 0) return holds(`${text}.`);
  return warning(`${text}; addresses of alarms.email without a confirmed subscription: ${missing}.`, advice);
}

type TopicTarget = Pick<Target, 'sns' | 'AlarmTopicArn'>;

/** The confirmed subscriptions of the alarms. Unconfirmed and removed subscriptions have no ARN. */
export async function subscriptionsOf({ sns: client, AlarmTopicArn: TopicArn }: TopicTarget) {
  const found: { SubscriptionArn: string; Endpoint: string }[] = [];
  for await (const { Subscriptions = [] } of paginateListSubscriptionsByTopic({ client }, { TopicArn })) {
    const all = Subscriptions.map(({ SubscriptionArn = '', Endpoint = '' }) => ({ SubscriptionArn, Endpoint }));
    found.push(...all.filter(({ SubscriptionArn }) => SubscriptionArn.startsWith('arn:')));
  }
  return found;
}

/**
 * Counts published files, tables, feeds and copied tables that were written under other column settings than the
 * current ones. A file counts if it has, or may have, a column that is left out now.
 * @returns a finding for each entity; empty if there is nothing to check
 */
export async function settingsFindings(
  target: Pick<Target, 's3' | 'BucketName'>,
  deployment: Deployment,
): Promise<Finding[]> {
  const all = await derivedObjects(target, deployment);
  const findings = await eachOf(ENTITIES, async (entity) => {
    const files = await outdatedFiles(target, deployment, entity);
    const objects = all.filter((object) => object.entity === entity && object.then !== 'keep');
    if (files.length + objects.length === 0) return [];
    const kept = [
      ...files.map(({ run }) => Date.parse(run.keptUntil)),
      ...objects.map(({ at }) => (at?.getTime() ?? 0) + deployment.retentionDays * DAY_MS),
    ];
    const until = new Date(Math.max(...kept)).toISOString().slice(0, 10);
    const counts = countsText([...files.map(() => ({ kind: 'file' as const })), ...objects]);
    const found = `Written under earlier column settings of ${entity}: ${counts}. The last of these objects expires on ${until}.`;
    const outdated = `Write tables again, and remove feeds and copied tables: ${CRM_EXPORT} table ${entity} --outdated.`;
    const stored =
      'Files stay as they were published. Until they expire, do not let anyone read runs/ who must not see these columns. To remove files earlier: docs/removing-a-customer.md.';
    const advice = [...(objects.length > 0 ? [outdated] : []), ...(files.length > 0 ? [stored] : [])];
    return [about(entity, warning(found, advice.join(' ')))];
  });
  if (findings.flat().length > 0 || all.length === 0) return findings.flat();
  return [holds(`${countsText(all)}: all written under the current column settings, like the published files.`)];
}

/** The published files of an entity that have, or may have, a column that is left out now. */
async function outdatedFiles(target: Pick<Target, 's3' | 'BucketName'>, deployment: Deployment, entity: Entity) {
  const plan = deployment.entities[entity];
  if (plan.columns.except.length === 0) return [];
  const { published, newest } = await publishedManifests(createManifests(target), entity, () => undefined);
  return published.filter((manifest) => withheldReason(manifest, plan, newest) !== undefined);
}
