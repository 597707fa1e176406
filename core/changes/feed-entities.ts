import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';

/** The disk of WriteChanges, in MB. Lambda offers no more. */
export const FEED_DISK_MB = 10_240;

/** Entities whose tables are compared from night to night. */
export function feedEntities({ entities }: Pick<Deployment, 'entities'>): Entity[] {
  return ENTITIES.filter((entity) => entities[entity].changes !== undefined);
}
