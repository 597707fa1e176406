import { lastProbe } from '../../core/probe/report.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { type Finding, holds } from '../checks/finding.ts';
import type { Target } from '../support/target.ts';
import { manyText } from '../support/text.ts';

/** When the CRM was last compared with what is assumed of it; that it never was fails nothing. */
export async function lastProbeFinding({ s3, BucketName }: Pick<Target, 's3' | 'BucketName'>): Promise<Finding> {
  const last = await lastProbe(createBucket(s3, BucketName));
  if (!last) return holds('No report is kept: probe --save keeps one.');
  const otherwise = last.sightings.filter(({ verdict }) => verdict === 'otherwise').length;
  return holds(`At ${last.at}, by release ${last.release}: ${manyText(otherwise, 'open point')} otherwise.`);
}
