import { exceptedOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Listed, Run } from '../step/states.ts';
import type { Judged } from './judge.ts';
import { leftOutBy, leftOutOfManifest } from './left-out.ts';
import type { Manifest } from './manifest.ts';

/**
 * An export by its manifest, to be judged again under the settings of today, as one that readers get.
 * @param newest of the entity: it may know what these mean as the older one does not
 */
export function judgedAgain(manifest: Manifest, plan: EntityPlan, newest?: Manifest): Judged & Pick<Run, 'listed'> {
  const entries = exceptedOf(plan);
  const { entity, date, kind, request, export: made } = manifest;
  return {
    entity,
    date,
    kind,
    request,
    plan: manifest.plan,
    publish: true,
    exportId: made.id,
    adopted: made.adoptedFrom,
    listed: listedBy(manifest),
    excepted: [...leftOutOfManifest(entries, manifest), ...(newest ? leftOutBy(entries, newest) : [])],
  };
}

/** All fields that the CRM listed, as far as the manifest has kept them. */
function listedBy({ fields, request: { columns } }: Manifest): Listed {
  if (!fields) return { others: [], labels: null, types: null, complete: false };
  const labelOf = new Map(fields.map(({ name, label }) => [name, label]));
  const others = fields.map(({ name }) => name).filter((name) => !columns.includes(name));
  const labels = [...columns, ...others].map((name) => labelOf.get(name) ?? null);
  return { others, labels, types: null, complete: true };
}
