import {
  DescribeRuleCommand,
  DisableRuleCommand,
  EnableRuleCommand,
  ListRulesCommand,
  type Rule,
} from '@aws-sdk/client-eventbridge';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { RESTORE } from '../support/aws-error.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

type DeployedRules = Pick<Target, 'events' | 'stack'>;

/** The nightly rule of an entity, after it was switched. */
export interface SwitchedRule {
  entity: Entity;
  rule: string;
  state: 'ENABLED' | 'DISABLED';
  /** Whether it was otherwise before. */
  changed: boolean;
}

/**
 * Switches the nightly rule of an entity on or off.
 * @throws CommandError (exit code 3) where the stack has no such rule
 */
export async function switchRule(
  { events, stack }: DeployedRules,
  entity: Entity,
  state: SwitchedRule['state'],
): Promise<SwitchedRule> {
  const Name = `${stack}-${entity}`;
  try {
    const before = await events.send(new DescribeRuleCommand({ Name }));
    const changed = before.State !== state;
    if (changed) {
      await events.send(state === 'ENABLED' ? new EnableRuleCommand({ Name }) : new DisableRuleCommand({ Name }));
    }
    return { entity, rule: Name, state, changed };
  } catch (error) {
    if (!(error instanceof Error && error.name === 'ResourceNotFoundException')) throw error;
    throw new CommandError(`There is no rule ${Name}: ${RESTORE}.`, ENVIRONMENT, { cause: error });
  }
}

/** Entities whose nightly rule is switched off in the account. */
export async function pausedRules(target: DeployedRules): Promise<Entity[]> {
  const rules = await nightlyRules(target);
  return ENTITIES.filter((entity) => rules.get(entity)?.State === 'DISABLED');
}

/** The nightly rules that are in the account. */
async function nightlyRules({ events, stack }: DeployedRules): Promise<Map<Entity, Rule>> {
  const { Rules = [] } = await events.send(new ListRulesCommand({ NamePrefix: `${stack}-` }));
  return new Map(
    ENTITIES.flatMap((entity) => {
      const rule = Rules.find(({ Name }) => Name === `${stack}-${entity}`);
      return rule ? [[entity, rule] as const] : [];
    }),
  );
}
