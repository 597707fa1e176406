import { entityPlan } from '../../core/config/entity-plan.ts';
import { failedChecks, type GuardCheck, type GuardReport, guardReport } from '../../core/export/guards.ts';
import { planMatch, readHistory } from '../../core/export/history.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Run } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { headerChecks } from './compare-header.ts';
import type { Contents } from './contents.ts';

export interface Guarded {
  report: GuardReport;
  /** Warnings. */
  remarks: string[];
}

/**
 * Compares a stored file with what is published of other dates under the same plan, and with what was requested. `null`:
 * there is nothing to guard, for readers do not get it.
 */
export async function guardFile(
  run: Run,
  file: Contents & { bytes: number },
  { bucket, deployment, now }: Invocation & { bucket: Bucket },
): Promise<Guarded | null> {
  const excepted = exceptedChecks(run, file);
  if (!run.publish) return unpublishedGuard(excepted);
  const { entity, date, kind } = run;
  const matches = planMatch(run, deployment.crm.emailField);
  const today = now().toISOString().slice(0, 10);
  const { comparedWith, unreadable } = await readHistory(bucket, { entity, date, matches, today });
  const { guards, drift } = entityPlan(deployment, entity);
  const { minRows, ...others } = guards;
  // The configured number is one of the configured plan.
  const settings = kind === 'partial' || minRows === undefined ? others : { ...others, minRows };
  const remarks: [holds: boolean, remark: string][] = [
    [comparedWith.length === 0, 'No export of another date is published that the file could be compared with.'],
    [
      unreadable > 0,
      `Of ${unreadable} published exports pointer or manifest is gone or unreadable: the file is not compared with them.`,
    ],
  ];
  const { checks, ...compared } = guardReport(file, settings, comparedWith);
  const header = headerChecks(file, run.request.columns, drift);
  return {
    report: { checks: [...checks, ...header, ...excepted], ...compared },
    remarks: remarks.flatMap(([holds, remark]) => (holds ? [remark] : [])),
  };
}

/** Columns that the configuration leaves out. Where they cannot be seen, they may be there. */
function exceptedChecks(run: Run, { excepted }: Contents): GuardCheck[] {
  if (run.excepted.length === 0) return [];
  return [{ guard: 'excepted', passed: excepted === 0, measured: excepted, bound: 0 }];
}

/** `download --run` has such a file too. */
function unpublishedGuard(checks: GuardCheck[]): Guarded | null {
  const report = { checks, comparedWith: [], medianRows: null };
  return failedChecks(report).length > 0 ? { report, remarks: [] } : null;
}
