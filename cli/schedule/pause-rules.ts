import { DescribeRuleCommand, DisableRuleCommand, EnableRuleCommand } from '@aws-sdk/client-eventbridge';
import type { Entity } from '../../core/config/entities.ts';
import { RESTORE } from '../support/aws-error.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

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
  { events, stack }: Pick<Target, 'events' | 'stack'>,
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
