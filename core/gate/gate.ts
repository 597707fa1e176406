import type { DriftPolicy } from '../config/entity-settings.ts';
import { CHECKS, type GateCheck } from './checks.ts';
import { type Facts, rowsOf } from './facts.ts';
import { historyRemarks } from './history-remarks.ts';
import { failedChecks, type GateCheckResult, type GateReport } from './report.ts';
import { columnChanges, columnsOf, rowsThatCount, type Subject, usualRows, withKnownHeader } from './subject.ts';

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

/** How the columns of a file are not those that were requested, in sentences; nothing where the configuration accepts it. */
function columnRemarks({ facts, promised: { columns, drift } }: Subject): string[] {
  const named = columnsOf(facts);
  const changes = columnChanges(facts, columns);
  if (!named || !changes || facts.empty || isAccepted(changes, drift)) return [];
  if (named.length !== columns.length)
    return [`The header has ${named.length} columns; ${columns.length} were requested.`];
  const otherwise = named.some((name, place) => name !== columns[place]);
  return otherwise ? ['The header names the columns otherwise than they were requested.'] : [];
}

/** Whether the configuration accepts every change, and there is one. */
function isAccepted({ added, removed }: { added: number; removed: number }, policy: DriftPolicy): boolean {
  if (added + removed === 0) return false;
  return (added === 0 || policy.added === 'accept') && (removed === 0 || policy.removed === 'accept');
}
