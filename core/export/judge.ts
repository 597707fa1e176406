import { fieldsOf } from '../columns/column-changes.ts';
import { meantInRuns, type RunColumns } from '../columns/left-out.ts';
import { exceptedOf, isHeaderless, requiredOf } from '../config/chosen-columns.ts';
import type { Deployment } from '../config/deployment.ts';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Facts } from '../gate/facts.ts';
import { passGate, type Verdict } from '../gate/gate.ts';
import type { Promised } from '../gate/subject.ts';
import { type History, NO_HISTORY } from '../gate/subject.ts';
import type { Run } from '../step/states.ts';
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
  date: string,
  { bytes, crc32 }: Pick<Manifest['file'], 'bytes' | 'crc32'>,
): string | null {
  const before = comparedWith.find((other) => other.date < date);
  if (!before || before.facts.bytes !== bytes || before.crc32 !== crc32) return null;
  return before.unchangedSince ?? before.date;
}

/**
 * An export by its manifest, to be judged again under today's settings, as if readers get it.
 * @param newest manifest of the entity: it may show which columns today's entries name
 */
export function judgedAgain(
  { run, file }: Manifest,
  plan: EntityPlan,
  newest?: Manifest,
): Judged & Pick<Run, 'listed'> {
  const names = [...run.request.columns, ...(file.header ?? [])];
  const excepted = exceptedOf(plan).flatMap((entry) => {
    const own = meantInRuns(entry, names, [run]);
    // An entry that names no column of the run counts as a column name itself.
    const itself = own.length > 0 ? own : [{ entry, name: entry, label: null }];
    return [...itself, ...(newest ? meantInRuns(entry, [], [newest.run]) : [])];
  });
  return { ...run, publish: true, excepted };
}

/**
 * Entries without a known column that may be the label of a column of the file.
 * @param others later runs
 */
export function untoldEntries(entries: readonly string[], run: RunColumns, others: readonly RunColumns[]): string[] {
  const { columns } = run.request;
  const labelled = new Set((fieldsOf(run) ?? []).flatMap(({ name, label }) => (label === null ? [] : [name])));
  if (columns.every((name) => labelled.has(name))) return [];
  return entries.filter((entry) => meantInRuns(entry, columns, [run, ...others]).length === 0);
}
