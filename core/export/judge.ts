import { isHeaderless, requiredOf } from '../config/chosen-columns.ts';
import type { Deployment } from '../config/deployment.ts';
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
  const before = comparedWith.find(({ run }) => run.date < date);
  if (!before || before.file.bytes !== bytes || before.file.crc32 !== crc32) return null;
  return before.unchangedSince ?? before.run.date;
}
