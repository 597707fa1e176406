import { type LeftOut, type ManifestColumns, meantInManifests } from '../columns/left-out.ts';
import { exceptedOf } from '../config/chosen-columns.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Listed, Run } from '../step/states.ts';
import type { Judged } from './judge.ts';
import type { Manifest } from './manifest.ts';

/**
 * An export by its manifest, to be judged again under the settings of today, as one that readers get.
 * @param newest of the entity: it may know what these mean as the older one does not
 */
export function judgedAgain(manifest: Manifest, plan: EntityPlan, newest?: Manifest): Judged & Pick<Run, 'listed'> {
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
    excepted: leftOutOf(exceptedOf(plan), manifest, newest),
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

/** An entry that names nothing in the manifest of the file stands for itself, too. */
function leftOutOf(entries: readonly string[], manifest: Manifest, newest: Manifest | undefined): LeftOut[] {
  const names = [...manifest.request.columns, ...(manifest.file.header ?? [])];
  return entries.flatMap((entry) => {
    const own = meantInManifests(entry, names, [manifest]);
    const itself = own.length > 0 ? own : [{ entry, name: entry, label: null }];
    return [...itself, ...(newest ? meantInManifests(entry, [], [newest]) : [])];
  });
}

/**
 * Entries of which no manifest says what they mean, though they may be the label of a column of the file.
 * @param others manifests of later files
 */
export function untoldEntries(
  entries: readonly string[],
  manifest: ManifestColumns & Pick<Manifest, 'request'>,
  others: readonly ManifestColumns[],
): string[] {
  const { columns } = manifest.request;
  const labelled = new Set((manifest.fields ?? []).flatMap(({ name, label }) => (label === null ? [] : [name])));
  if (columns.every((name) => labelled.has(name))) return [];
  return entries.filter((entry) => meantInManifests(entry, columns, [manifest, ...others]).length === 0);
}
