import { countText } from '../count-text.ts';
import { CHECKS, type GateCheck } from './checks.ts';
import { type Facts, isEmptyFile } from './facts.ts';
import { failedChecks, type GateCheckResult, type GateReport, rowsText } from './report.ts';
import { columnChanges, columnsOf, rowsThatCount, type Subject, usualRows, withReleasedHeader } from './subject.ts';

/** The file with the result of its checks. If an earlier release has confirmed its header, `facts` contain that header. */
export interface Verdict extends Pick<Subject, 'facts' | 'history'> {
  /** `null` if readers do not get the file and no final check has stopped it. */
  report: GateReport | null;
  passed: boolean;
  /** Warnings, in sentences. */
  warnings: string[];
}

/**
 * Runs the checks that a file must pass before readers get it. A check that is marked `promised` also fails if its
 * measurement is unknown. Every other check fails only if the measurement exceeds its limit. If readers do not get the
 * file, only the final checks run, because `download --run` can still read it.
 */
export function passGate(file: Subject): Verdict {
  const facts = withReleasedHeader(file);
  const subject = { ...file, facts };
  const { publish } = subject.run;
  const found = CHECKS.filter(({ final }) => publish || final).flatMap((check) => {
    const result = resultOf(check, subject);
    return result ? [{ check, result }] : [];
  });
  const accepted = found.filter(({ check, result }) => !result.passed && isAccepted(check, subject));
  const checks = found.filter((each) => !accepted.includes(each)).map(({ result }) => result);
  const passed = failedChecks({ checks }).length === 0;
  const acceptedWarnings = accepted.flatMap(({ check }) => check.warning ?? []);
  const report = publish || !passed ? reportOf(checks, subject) : null;
  const warnings = [...warningsOf(subject), ...acceptedWarnings];
  return { report, passed, warnings, facts, history: file.history };
}

/** Whether a person has released a file of the same kind that the check had stopped. */
function isAccepted({ id, kindOf }: GateCheck, { facts, history }: Subject): boolean {
  const kind = kindOf?.(facts);
  return history.releasedBefore.some((accepted) => accepted.guard === id && accepted.kind === kind);
}

function reportOf(checks: GateCheckResult[], { history }: Subject): GateReport {
  const comparedWith = history.comparedWith.map(({ execution, run, file }) => {
    return { date: run.date, execution, rows: rowsThatCount(file) };
  });
  return { checks, comparedWith, medianRows: usualRows(history) };
}

function resultOf({ id, promised, measure }: GateCheck, subject: Subject): GateCheckResult | undefined {
  const asked = measure(subject);
  if (!asked) return undefined;
  const { measured, atLeast, atMost, detail = null } = asked;
  const holds = measured !== null && measured >= (atLeast ?? measured) && measured <= (atMost ?? measured);
  const passed = measured === null ? !promised : holds;
  return { guard: id, passed, measured, bound: atLeast ?? atMost ?? 0, detail };
}

/** Findings that do not stop the file, in sentences. */
function warningsOf(subject: Subject): string[] {
  const { facts, history, run } = subject;
  const { comparedWith, unreadable, ofDate } = history;
  const { irregular = 0, headed } = facts.content ?? {};
  const warnings: [holds: boolean, warning: string][] = [
    [facts.rows === 0 && !isEmptyFile(facts), 'The file has no rows.'],
    [headed === null, 'Rows are not counted, because it is unknown whether the first line names the columns.'],
    ...columnWarnings(subject),
    [
      irregular > 0,
      `${countText(irregular, 'row')} ${irregular === 1 ? 'has' : 'have'} more or fewer fields than the first record.`,
    ],
    [
      unreadable > 0,
      `The file is not compared with ${unreadable} published exports, because their pointers or manifests are missing, unreadable or of an earlier release.`,
    ],
    [
      ofDate?.run.exportId === run.exportId && run.adopted === null,
      'The export has the same id as the published export of its date.',
    ],
    [
      isCapped(subject),
      'The file has exactly as many rows as the last published one, and this is a round number or a known limit: rows may be missing.',
    ],
  ];
  return [
    ...warnings.flatMap(([holds, warning]) => (holds ? [warning] : [])),
    ...changesOfForm(facts, comparedWith[0]?.file),
  ];
}

/** How the columns differ from the requested ones, unless the configuration accepts the change. */
function columnWarnings({
  facts,
  run: { request },
  settings: { drift },
}: Subject): [holds: boolean, warning: string][] {
  const { columns } = request;
  const named = columnsOf(facts);
  const { added, removed } = columnChanges(facts, columns) ?? { added: 0, removed: 0 };
  const isAccepted =
    added + removed > 0 && (added === 0 || drift.added === 'accept') && (removed === 0 || drift.removed === 'accept');
  if (!named || isAccepted) return [];
  const isAsMany = named.length === columns.length;
  return [
    [!isAsMany, `The header has ${countText(named.length, 'column')}; the run requested ${columns.length}.`],
    [
      isAsMany && named.some((name, place) => name !== columns[place]),
      'The header names the columns differently from the request.',
    ],
  ];
}

/** An export with fewer rows often has the same number of rows every night, without any limit at the CRM. */
const FEWEST_CAPPED = 1000;
/** CRMs and databases limit results to a multiple of this number, or to a power of two. */
const ROUND = 500;

/** Whether the CRM may have stopped the export at a limit. */
function isCapped({ facts, history: { comparedWith } }: Subject): boolean {
  const rows = facts.rows ?? 0;
  // Exports may count their header as a row.
  const isLimit = [rows, rows + 1].some((count) => count % ROUND === 0 || Number.isInteger(Math.log2(count)));
  return rows >= FEWEST_CAPPED - 1 && rows === comparedWith[0]?.file.rows && isLimit;
}

/** Differences in format between the file and the last published one, if both are known. */
function changesOfForm(now: Facts, before: Facts | undefined): string[] {
  if (!before) return [];
  // A file of ASCII characters fits every encoding.
  const isEncoded = [now, before].every(({ content }) => content?.ascii === false);
  const parts: Record<string, (facts: Facts) => string | null | undefined> = {
    format: ({ format }) => format,
    compression: ({ format, compression }) => format && (compression ?? 'none'),
    encoding: ({ dialect }) => (isEncoded ? dialect?.encoding : null),
    separator: ({ dialect }) => dialect?.separator,
  };
  return Object.entries(parts).flatMap(([what, partOf]) => {
    const [is, was] = [partOf(now), partOf(before)];
    if (!is || !was || is === was) return [];
    return [`The ${what} of the file has changed since the last published file, from ${named(was)} to ${named(is)}.`];
  });
}

const NAMES: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };
const named = (word: string) => NAMES[word] ?? word;

/** The error message of a run contains these words if no person can release its file. */
export const NOT_RELEASABLE = 'It cannot be released';

/** The failed checks with measurement and bound: the rest of a sentence that begins with "it". */
export function stoppedText(report: GateReport, facts: Pick<Facts, 'rows' | 'content'>): string {
  const about = { rows: rowsText(rowsThatCount(facts)), medianRows: report.medianRows };
  const wordsOf = (failed: GateCheckResult) => {
    const { guard, measured, bound } = failed;
    const check = CHECKS.find(({ id }) => id === guard);
    return check?.words(failed, about) ?? `was stopped by ${guard} (measured ${measured}, bound ${bound})`;
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
