import {
  DescribeRuleCommand,
  DisableRuleCommand,
  EnableRuleCommand,
  ListRulesCommand,
} from '@aws-sdk/client-eventbridge';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { RESTORE } from '../support/aws-error.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

type Place = Pick<Target, 'events' | 'stack'>;

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
  { events, stack }: Place,
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
export async function pausedRules({ events, stack }: Place): Promise<Entity[]> {
  const { Rules = [] } = await events.send(new ListRulesCommand({ NamePrefix: `${stack}-` }));
  const off = new Set(Rules.filter(({ State }) => State === 'DISABLED').map(({ Name }) => Name));
  return ENTITIES.filter((entity) => off.has(`${stack}-${entity}`));
}
