import type { Deployment } from './deployment.ts';
import type { Entity } from './entities.ts';
import { entityPlan } from './entity-plan.ts';
import { timingOf } from './timing.ts';

/**
 * After how many hours without a published export an entity raises its alarm. `needed` by its deadline: the longest night
 * after the shortest, and an hour more.
 */
export function freshnessOf(deployment: Deployment, entity: Entity): { hours: number; needed: number } {
  const { polling, freshnessHours } = entityPlan(deployment, entity);
  // A day of 25 hours.
  const longest = timingOf(deployment, entity).at === null ? 24 : 25;
  const needed = Math.max(longest + 2, longest + 1 + Math.ceil(polling.deadlineSeconds / 3600));
  return { hours: freshnessHours ?? deployment.alarms.freshnessHours ?? needed, needed };
}

/** "31 hours", or "31 to 35 hours, by entity". */
export function freshnessText(deployment: Deployment, entities: readonly Entity[]): string {
  const hours = entities.map((entity) => freshnessOf(deployment, entity).hours);
  const [least, most] = [Math.min(...hours), Math.max(...hours)];
  return least === most ? `${least} hours` : `${least} to ${most} hours, by entity`;
}
