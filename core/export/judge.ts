import { type LeftOut, type ManifestColumns, meantInManifests } from '../columns/left-out.ts';
import { exceptedOf, isHeaderless, requiredOf } from '../config/chosen-columns.ts';
import type { Deployment } from '../config/deployment.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Facts } from '../gate/facts.ts';
import { passGate, type Verdict } from '../gate/gate.ts';
import type { Promised } from '../gate/subject.ts';
import { type History, NO_HISTORY } from '../gate/subject.ts';
import type { Listed, Run } from '../step/states.ts';
import type { Bucket } from '../storage/bucket.ts';
import { readHistory } from './history.ts';
import type { Manifest } from './manifest.ts';

/** An export to judge, from the run that made it or from its manifest. */
export type Judged = Pick<
  Run,
  'entity' | 'date' | 'kind' | 'plan' | 'request' | 'exportId' | 'adopted' | 'excepted' | 'publish'
>;

interface Deps {
  bucket: Pick<Bucket, 'list' | 'read'>;
  deployment: Deployment;
  now: () => Date;
}

export interface JudgedFile extends Verdict {
  history: History;
}

/** Judges a file that was read to its end, under today's settings. */
export async function judgeExport(judged: Judged, facts: Facts, deps: Deps): Promise<JudgedFile> {
  const { entity, date, plan, exportId, publish } = judged;
  const { bucket, deployment, now } = deps;
  const today = now().toISOString().slice(0, 10);
  const history = publish ? await readHistory(bucket, { entity, date, plan, today }) : NO_HISTORY;
  const adopted = judged.adopted !== null;
  const subject = { date, exportId, adopted, facts, promised: promisedOf(judged, deployment), history };
  return { ...passGate(subject, publish), history };
}

/** The requirements of today's settings for an export. */
function promisedOf({ entity, kind, request, excepted }: Judged, deployment: Deployment): Promised {
  const plan = deployment.entities[entity];
  const { minRows, ...others } = plan.guards;
  // `minRows` is set for the configured plan only.
  const guards = kind === 'partial' || minRows === undefined ? others : { ...others, minRows };
  const { columns } = request;
  return {
    columns,
    excepting: excepted.length > 0,
    required: requiredOf(plan),
    headerless: isHeaderless(plan),
    guards,
    drift: plan.drift,
  };
}

/**
 * The date since which the files of a plan have had the same size and CRC-32; `null` if the previous file differs.
 */
export function unchangedSince(
  { comparedWith }: History,
  { date, file: { bytes, crc32 } }: Pick<Manifest, 'date'> & { file: Pick<Manifest['file'], 'bytes' | 'crc32'> },
): string | null {
  const before = comparedWith.find((other) => other.date < date);
  if (!before || before.facts.bytes !== bytes || before.crc32 !== crc32) return null;
  return before.unchangedSince ?? before.date;
}

/**
 * An export by its manifest, to be judged again under today's settings, as if readers get it.
 * @param newest manifest of the entity: it may show which columns today's entries name
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

/** The fields that the CRM listed, as far as the manifest contains them. */
function listedBy({ fields, request: { columns } }: Manifest): Listed {
  if (!fields) return { others: [], labels: null, types: null, complete: false };
  const labelOf = new Map(fields.map(({ name, label }) => [name, label]));
  const others = fields.map(({ name }) => name).filter((name) => !columns.includes(name));
  const labels = [...columns, ...others].map((name) => labelOf.get(name) ?? null);
  return { others, labels, types: null, complete: true };
}

/** The left-out columns. An entry that names no column in the manifest of the file counts as a column name itself. */
function leftOutOf(entries: readonly string[], manifest: Manifest, newest: Manifest | undefined): LeftOut[] {
  const names = [...manifest.request.columns, ...(manifest.file.header ?? [])];
  return entries.flatMap((entry) => {
    const own = meantInManifests(entry, names, [manifest]);
    const itself = own.length > 0 ? own : [{ entry, name: entry, label: null }];
    return [...itself, ...(newest ? meantInManifests(entry, [], [newest]) : [])];
  });
}

/**
 * Entries without a known column that may be the label of a column of the file.
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
