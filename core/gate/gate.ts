import { CHECKS, type GateCheck } from './checks.ts';
import { columnRemarks } from './column-remarks.ts';
import { type Facts, rowsOf } from './facts.ts';
import { historyRemarks } from './history-remarks.ts';
import { failedChecks, type GateCheckResult, type GateReport } from './report.ts';
import { rowsThatCount, type Subject, usualRows, withKnownHeader } from './subject.ts';

export interface Verdict {
  /** `null`: there is nothing to tell, for no reader gets the file and nothing forbids it. */
  report: GateReport | null;
  passed: boolean;
  /** Warnings, in sentences. */
  remarks: string[];
  /** The facts as they are known by what was released before. */
  facts: Facts;
}

/**
 * The gate that everything passes before readers get it. What is promised and cannot be shown to hold fails; what is not
 * promised fails only where it is seen not to hold.
 * @param readable whether readers get the file; of others only the final checks are asked, for `download --run` has them too
 */
export function passGate(given: Subject, readable: boolean): Verdict {
  const facts = withKnownHeader(given.facts, given.history);
  const subject = { ...given, facts };
  const checks = CHECKS.filter(({ final }) => readable || final).flatMap((check) => resultOf(check, subject));
  const passed = failedChecks({ checks }).length === 0;
  const remarks = [...contentRemarks(subject), ...(readable ? historyRemarks(subject) : [])];
  return { report: readable || !passed ? reportOf(checks, subject) : null, passed, remarks, facts };
}

function reportOf(checks: GateCheckResult[], { history }: Subject): GateReport {
  const comparedWith = history.comparedWith.map(({ date, execution, facts }) => {
    return { date, execution, rows: rowsThatCount(facts) };
  });
  return { checks, comparedWith, medianRows: usualRows(history) };
}

function resultOf({ id, promised, measure }: GateCheck, subject: Subject): GateCheckResult[] {
  const asked = measure(subject);
  if (!asked) return [];
  const { measured, atLeast, atMost, detail = null } = asked;
  const holds = measured !== null && measured >= (atLeast ?? measured) && measured <= (atMost ?? measured);
  const passed = measured === null ? !promised : holds;
  return [{ guard: id, passed, measured, bound: atLeast ?? atMost ?? 0, detail }];
}

function contentRemarks(subject: Subject): string[] {
  const { facts } = subject;
  const { irregular = 0, headed } = facts.content ?? {};
  return [
    ...(rowsOf(facts) === 0 ? ['The file has no rows.'] : []),
    ...(headed === null ? ['Rows are not counted: whether the first line names the columns is not known.'] : []),
    ...columnRemarks(subject),
    ...(irregular > 0 ? [`${irregular} rows have another number of fields than the first record.`] : []),
  ];
}
