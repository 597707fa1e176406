import { entityPlan } from '../../core/config/entity-plan.ts';
import { type GuardReport, guardReport } from '../../core/export/guards.ts';
import { planMatch, readHistory } from '../../core/export/history.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Run } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import type { Contents } from './contents.ts';

export interface Guarded {
  report: GuardReport;
  /** Warnings. */
  remarks: string[];
}

/** Compares a stored file with what is published of other dates under the same plan. */
export async function guardFile(
  run: Run,
  file: Contents & { bytes: number },
  { bucket, deployment, now }: Invocation & { bucket: Bucket },
): Promise<Guarded> {
  const { entity, date, kind } = run;
  const matches = planMatch(run, deployment.crm.emailField);
  const today = now().toISOString().slice(0, 10);
  const { comparedWith, unreadable } = await readHistory(bucket, { entity, date, matches, today });
  const { minRows, ...others } = entityPlan(deployment, entity).guards;
  // The configured number is one of the configured plan.
  const settings = kind === 'partial' || minRows === undefined ? others : { ...others, minRows };
  const remarks: [holds: boolean, remark: string][] = [
    [comparedWith.length === 0, 'No export of another date is published that the file could be compared with.'],
    [
      unreadable > 0,
      `Of ${unreadable} published exports pointer or manifest is gone or unreadable: the file is not compared with them.`,
    ],
  ];
  return {
    report: guardReport(file, settings, comparedWith),
    remarks: remarks.flatMap(([holds, remark]) => (holds ? [remark] : [])),
  };
}
