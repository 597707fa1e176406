import type { Entity } from '../../core/config/entities.ts';
import { entityPlan } from '../../core/config/entity-plan.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { RunState } from '../../core/step/states.ts';

/** The first machine that knows TABLE_DUE. */
const TABLES_SINCE = 3;

/**
 * Whether a table follows.
 * @param ofDate whether the pointer of the date names the run; else a later one writes the table
 */
export function publishedOutcome(
  entity: Entity,
  ofDate: boolean,
  { machineVersion }: RunState,
  { deployment }: Pick<Invocation, 'deployment'>,
): 'PUBLISHED' | 'TABLE_DUE' {
  const wanted = ofDate && machineVersion >= TABLES_SINCE && entityPlan(deployment, entity).tables !== undefined;
  return wanted ? 'TABLE_DUE' : 'PUBLISHED';
}
