import { CHECKS } from './checks.ts';
import type { Facts } from './facts.ts';
import { failedChecks, type GateCheckResult, type GateReport } from './report.ts';
import { rowsThatCount } from './subject.ts';
import { rowsText } from './texts.ts';

/**
 * These words are in the cause of a run whose file no person can release; the report looks for them there, without the
 * manifest.
 */
export const NOT_RELEASABLE = 'It cannot be released';

/** What stopped a file, measured and bound: half a sentence behind "it". */
export function stoppedText(report: GateReport, facts: Pick<Facts, 'empty' | 'content'>): string {
  const told = { rows: rowsText(rowsThatCount(facts)), medianRows: report.medianRows };
  const wordsOf = (failed: GateCheckResult) => {
    const { guard, measured, bound } = failed;
    const check = CHECKS.find(({ id }) => id === guard);
    return check?.words(failed, told) ?? `was stopped by ${guard} (measured ${measured}, bound ${bound})`;
  };
  return failedChecks(report).map(wordsOf).join('; it ');
}

/** The failed checks that no person can release. */
export function finalChecks(report: GateReport): GateReport {
  const final = CHECKS.filter((check) => check.final).map(({ id }) => id);
  return { ...report, checks: failedChecks(report).filter(({ guard }) => final.includes(guard)) };
}

export function isReleasable(report: GateReport): boolean {
  return finalChecks(report).checks.length === 0;
}
