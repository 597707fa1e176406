import { DescribeRuleCommand, DisableRuleCommand, EnableRuleCommand } from '@aws-sdk/client-eventbridge';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import { RESTORE } from '../support/aws-error.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import type { Target } from '../support/target.ts';
import type { NightlyPlan } from './nightly-plan.ts';

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
    if (!isGone(error)) throw error;
    throw new CommandError(`There is no rule ${Name}: ${RESTORE}.`, ENVIRONMENT, { cause: error });
  }
}

/** Entities that no rule starts now as it was deployed. */
export interface NotStarted {
  /** The rule is switched off. */
  paused: Entity[];
  /** The rule is gone. */
  withoutRule: Entity[];
  /** The rule starts at other times than were deployed. */
  changed: Entity[];
}

/** Asks for each nightly rule by its name: other deployments may have names that begin like this one's. */
export async function notStarted({ events, stack }: DeployedRules, { timing }: NightlyPlan): Promise<NotStarted> {
  const states = await eachOf(ENTITIES, async (entity) => {
    try {
      const { State, ScheduleExpression } = await events.send(new DescribeRuleCommand({ Name: `${stack}-${entity}` }));
      const isChanged = ScheduleExpression !== undefined && ScheduleExpression !== timing[entity].expression;
      return State === 'ENABLED' && isChanged ? 'CHANGED' : State;
    } catch (error) {
      if (isGone(error)) return 'GONE';
      throw error;
    }
  });
  const having = (state: string) => ENTITIES.filter((_, index) => states[index] === state);
  return { paused: having('DISABLED'), withoutRule: having('GONE'), changed: having('CHANGED') };
}

function isGone(error: unknown): boolean {
  return error instanceof Error && error.name === 'ResourceNotFoundException';
}
