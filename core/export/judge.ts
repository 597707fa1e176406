import type { Deployment } from '../config/deployment.ts';
import type { Facts } from '../gate/facts.ts';
import { passGate, type Verdict } from '../gate/gate.ts';
import { type History, type Judged, NO_HISTORY } from '../gate/subject.ts';
import type { Bucket } from '../storage/bucket.ts';
import { readHistory } from './history.ts';
import type { Manifest } from './manifest.ts';

interface Deps {
  bucket: Pick<Bucket, 'list' | 'read'>;
  deployment: Deployment;
  now: () => Date;
}

export interface JudgedFile extends Verdict {
  history: History;
}

/** Judges a file that was read to its end, under today's settings. */
export async function judgeExport(run: Judged, facts: Facts, { bucket, deployment, now }: Deps): Promise<JudgedFile> {
  const today = now().toISOString().slice(0, 10);
  const history = run.publish ? await readHistory(bucket, { ...run, today }) : NO_HISTORY;
  return { ...passGate({ run, settings: deployment.entities[run.entity], facts, history }), history };
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
