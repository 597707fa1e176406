import { ENTITIES, entitySchema } from '../../core/config/entities.ts';
import { eachOf } from '../../core/each-of.ts';
import type { Manifests, PublishedRun } from './manifests.ts';

/** A run that only its manifest knows: the name gives the key; the newest run of an entity, or that of a date, is in a pointer. */
export async function forgottenRun(
  manifests: Manifests,
  run: string,
  date = 'latest',
): Promise<PublishedRun | undefined> {
  const name = run.split(':').at(-1) ?? run;
  const entity = entitySchema.safeParse(name).data;
  if (entity) {
    const pointer = await manifests.pointer(entity, date);
    return pointer && manifests.manifestOfRun(entity, pointer.execution);
  }
  const found = await eachOf(ENTITIES, (each) => manifests.manifestOfRun(each, name));
  return found.find((one) => one !== undefined);
}
