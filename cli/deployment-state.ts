import { paginateListStackResources } from '@aws-sdk/client-cloudformation';
import { type MetricAlarm, paginateDescribeAlarms } from '@aws-sdk/client-cloudwatch';
import { DescribeRuleCommand } from '@aws-sdk/client-eventbridge';
import type { Deployment } from '../core/config/deployment.ts';
import { ENTITIES, type Entity } from '../core/config/entities.ts';
import { timingOf } from '../core/config/timing.ts';
import { eachOf } from '../core/each-of.ts';
import { RunError } from '../core/errors.ts';
import { createGrantStore, newestTokenSet } from '../core/oauth/grant.ts';
import { createLedger, isDead } from '../core/oauth/ledger.ts';
import { MOST_REFUSALS } from '../core/oauth/refresh.ts';
import { isDenied, isGone } from './support/aws-error.ts';
import type { Target } from './support/target.ts';
import { asciiText } from './support/text.ts';

/** The state of a deployment besides its runs and files: its nightly rules, its grant, its raised alarms. */

/** The state of a nightly rule. `paused`: by hand; `off`: by the configuration. */
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

type GrantTarget = Pick<Target, 'secrets' | 'dynamo' | 'TokensSecretId' | 'LedgerTableName'>;

/** The secret that stores the grant of a deployment, and the ledger of its claims. */
export function grantPlaces({ secrets, dynamo, TokensSecretId, LedgerTableName }: GrantTarget) {
  return {
    store: createGrantStore(secrets, TokensSecretId),
    ledger: createLedger(dynamo, LedgerTableName, TokensSecretId),
  };
}

export type GrantPlaces = ReturnType<typeof grantPlaces>;

/** When the stored tokens were obtained (null: they cannot be read), and why the grant cannot be used. @throws RunError */
export async function grantOf(target: GrantTarget): Promise<{ obtainedAt: string | null; trouble: string | null }> {
  const { store, ledger } = grantPlaces(target);
  const newest = await newestTokenSet(store).catch((error: unknown) => {
    // No function can read the tokens either. A person may only lack the right to read them.
    if (error instanceof RunError && error.name === 'ConfigInvalid' && !isDenied(error.cause)) return error;
    throw error;
  });
  if (newest instanceof RunError) return { obtainedAt: null, trouble: newest.message };
  const item = await ledger.read(newest.versionId);
  const refused =
    item && item.refusals >= MOST_REFUSALS ? `the CRM refuses to refresh it: ${asciiText(item.reason)}` : null;
  const dead =
    item && isDead(item) ? `dead${item.diedAt ? ` since ${item.diedAt}` : ''}: ${asciiText(item.reason)}` : null;
  return { obtainedAt: newest.tokens.obtainedAt, trouble: dead ?? refused };
}

/** The alarms of a deployment. The prefix also matches alarms of other deployments: those of `prod-2` for `prod`. */
export async function alarmsOf(
  { cloudwatch: client, stack, AlarmTopicArn }: Pick<Target, 'cloudwatch' | 'stack' | 'AlarmTopicArn'>,
  only: { StateValue?: 'ALARM' } = {},
): Promise<MetricAlarm[]> {
  const alarms: MetricAlarm[] = [];
  for await (const page of paginateDescribeAlarms({ client }, { AlarmNamePrefix: `${stack}-`, ...only })) {
    alarms.push(...(page.MetricAlarms ?? []).filter(({ AlarmActions = [] }) => AlarmActions.includes(AlarmTopicArn)));
  }
  return alarms;
}

/** The raised alarms, without the name of the stack. */
export async function raisedAlarms(target: Parameters<typeof alarmsOf>[0]): Promise<string[]> {
  const raised = await alarmsOf(target, { StateValue: 'ALARM' });
  return raised.map(({ AlarmName = '' }) => AlarmName.slice(target.stack.length + 1));
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
