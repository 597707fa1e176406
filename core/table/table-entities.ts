import type { Deployment } from '../config/deployment.ts';
import { ENTITIES, type Entity } from '../config/entities.ts';

/** Entities whose published files become tables. */
export function tableEntities({ entities }: Pick<Deployment, 'entities'>): Entity[] {
  return ENTITIES.filter((entity) => entities[entity].tables !== undefined);
}
