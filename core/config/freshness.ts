import type { Deployment } from './deployment.ts';
import type { Entity } from './entities.ts';
import { entityPlan } from './entity-plan.ts';

const [A_DAY_AND_TWO_HOURS, A_DAY_AND_AN_HOUR] = [26, 25];

/** After how many hours without a published export an entity raises its alarm. */
export interface Freshness {
  hours: number;
  /** What its deadline needs: the longest night after the shortest, and an hour more. */
  needed: number;
}

/** A person's word counts, the entity's before the deployment's; without one, what the entity's deadline asks for. */
export function freshnessOf(deployment: Deployment, entity: Entity): Freshness {
  const { polling, freshnessHours } = entityPlan(deployment, entity);
  const needed = Math.max(A_DAY_AND_TWO_HOURS, A_DAY_AND_AN_HOUR + Math.ceil(polling.deadlineSeconds / 3600));
  return { hours: freshnessHours ?? deployment.alarms.freshnessHours ?? needed, needed };
}

/** Of some entities in words: "31 hours", or "31 to 35 hours, by entity". */
export function freshnessText(deployment: Deployment, entities: readonly Entity[]): string {
  const hours = entities.map((entity) => freshnessOf(deployment, entity).hours);
  const [least, most] = [Math.min(...hours), Math.max(...hours)];
  return least === most ? `${least} hours` : `${least} to ${most} hours, by entity`;
}
