import { paginateListStackResources } from '@aws-sdk/client-cloudformation';
import { type CloudWatchClient, paginateDescribeAlarms } from '@aws-sdk/client-cloudwatch';
import { DescribeRuleCommand } from '@aws-sdk/client-eventbridge';
import type { Deployment } from '../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import { timingOf } from '../core/config/timing.ts';
import { eachOf } from '../core/each-of.ts';
import { createGrantStore, newestOf } from '../core/oauth/grant.ts';
import { createLedger } from '../core/oauth/ledger.ts';
import { MOST_REFUSALS } from '../core/oauth/refresh.ts';
import { ended } from './support/aws-error.ts';
import type { Target } from './support/target.ts';
import { plain } from './support/text.ts';

/** The state of a deployment besides its runs and files: its nightly rules, its grant, its raised alarms. */

/** The state of a nightly rule. `paused`: switched off by hand; `off`: switched off by the configuration. */
export const RULE_STATES = ['on', 'paused', 'withoutRule', 'changed', 'off'] as const;
export type RuleState = (typeof RULE_STATES)[number];
export type Rules = Record<Entity, RuleState>;

export const RULE_WORDS: Record<RuleState, string> = {
  on: '',
  paused: 'paused',
  withoutRule: 'without a rule',
  changed: 'rule changed',
  off: 'switched off',
};

/** `paused: leads`, for each state in which rules do not start their entities as deployed. */
export function rulesNotes(rules: Rules): string[] {
  return RULE_STATES.flatMap((state) => {
    const entities = ENTITIES.filter((entity) => rules[entity] === state);
    return state === 'on' || entities.length === 0 ? [] : [`${RULE_WORDS[state]}: ${entities.join(', ')}`];
  });
}

/** Reads each nightly rule by its full name: a prefix would also match the rules of other deployments. */
export async function rulesOf(
  { events, stack }: Pick<Target, 'events' | 'stack'>,
  configured: Deployment,
): Promise<Rules> {
  const read = async (entity: Entity): Promise<[Entity, RuleState]> => {
    const off = configured.entities[entity].enabled ? undefined : 'off';
    try {
      const rule = await events.send(new DescribeRuleCommand({ Name: `${stack}-${entity}` }));
      if (rule.State !== 'ENABLED') return [entity, off ?? 'paused'];
      const { expression } = timingOf(configured, entity);
      return [entity, (rule.ScheduleExpression ?? expression) === expression ? 'on' : 'changed'];
    } catch (error) {
      if (!isGone(error)) throw error;
      return [entity, off ?? 'withoutRule'];
    }
  };
  return Object.fromEntries(await eachOf(ENTITIES, read)) as Rules;
}

/** Whether the error says that the rule does not exist. */
export function isGone(error: unknown): boolean {
  return error instanceof Error && error.name === 'ResourceNotFoundException';
}

type Warn = (sentence: string) => void;

/** When the stored tokens were obtained, and why the grant cannot be used; `null` if this could not be read. */
export async function grantOf(
  target: Pick<Target, 'secrets' | 'dynamo' | 'TokensSecretId' | 'LedgerTableName'>,
  warn: Warn,
): Promise<{ obtainedAt: string; trouble: string | null } | null> {
  const { secrets, dynamo, TokensSecretId, LedgerTableName } = target;
  try {
    const { newest } = await newestOf(createGrantStore(secrets, TokensSecretId));
    const item = await createLedger(dynamo, LedgerTableName, TokensSecretId).read(newest.versionId);
    const refused =
      item && item.refusals >= MOST_REFUSALS ? `the CRM refuses to refresh it: ${plain(item.reason)}` : null;
    const dead =
      item?.state === 'DEAD' ? `dead${item.diedAt ? ` since ${item.diedAt}` : ''}: ${plain(item.reason)}` : null;
    return { obtainedAt: newest.tokens.obtainedAt, trouble: dead ?? refused };
  } catch (error) {
    warn(`The age of the grant is not known: ${ended(error).sentence}`);
    return null;
  }
}

/** Names of the raised alarms of all deployments, by the topic of their mails; `null` if they could not be read. */
export async function raisedAlarms(client: CloudWatchClient, warn: Warn): Promise<Map<string, string[]> | null> {
  const raised = new Map<string, string[]>();
  const wanted = { AlarmNamePrefix: 'crm-export-', StateValue: 'ALARM' as const };
  try {
    for await (const { MetricAlarms = [] } of paginateDescribeAlarms({ client }, wanted)) {
      for (const { AlarmName = '', AlarmActions = [] } of MetricAlarms) {
        for (const topic of AlarmActions) raised.set(topic, [...(raised.get(topic) ?? []), AlarmName]);
      }
    }
    return raised;
  } catch (error) {
    warn(`Which alarms are raised is not known: ${ended(error).sentence}`);
    return null;
  }
}

/** The raised alarms of one deployment, without the name of its stack; `null` if they are not known. */
export function alarmsOf(
  raised: Map<string, string[]> | null,
  { stack, AlarmTopicArn }: Pick<Target, 'stack' | 'AlarmTopicArn'>,
): string[] | null {
  const names = raised?.get(AlarmTopicArn) ?? [];
  return raised && names.map((name) => (name.startsWith(`${stack}-`) ? name.slice(stack.length + 1) : name));
}

/** The id of the key of a deployment, which its outputs do not have; `undefined` if the stack has no key. */
export async function keyIdOf({
  cloudformation: client,
  stack: StackName,
}: Pick<Target, 'cloudformation' | 'stack'>): Promise<string | undefined> {
  for await (const { StackResourceSummaries = [] } of paginateListStackResources({ client }, { StackName })) {
    const key = StackResourceSummaries.find(({ ResourceType }) => ResourceType === 'AWS::KMS::Key');
    if (key) return key.PhysicalResourceId;
  }
  return undefined;
}
