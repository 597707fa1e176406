import { RESTORE } from '../support/aws-error.ts';
import { RUN_FAILED } from '../support/exit.ts';

/** It holds; nothing fails by it, but somebody should know; it does not hold; it cannot be told here. */
export const VERDICTS = ['holds', 'warning', 'broken', 'unknown'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What a check came to. */
export interface Finding {
  verdict: Verdict;
  /** What was found; where the verdict is unknown, why it cannot be told. */
  found: string;
  /** What to do. */
  advice: string | null;
  /** What it is about, where a check looks at several things: an entity. */
  of?: string;
  /** The class of the cause, for a command whose exit code tells it; 0 where nothing fails by the finding. */
  exitCode: number;
}

/** Thrown by a check that cannot be told here, with the reason. */
export class CannotTell extends Error {}

export function holds(found: string): Finding {
  return { verdict: 'holds', found, advice: null, exitCode: 0 };
}

export function warning(found: string, advice: string): Finding {
  return { verdict: 'warning', found, advice, exitCode: 0 };
}

export function broken(found: string, advice: string, exitCode = RUN_FAILED): Finding {
  return { verdict: 'broken', found, advice, exitCode };
}

/** Nothing was found out, which is no reproach to the deployment. */
export function unknown(why: string, advice: string | null = null, exitCode = 0): Finding {
  return { verdict: 'unknown', found: why, advice, exitCode };
}

/** Holds where nothing is wrong. */
export function holdsUnless(wrong: string[], found: string, advice = `${RESTORE}.`): Finding {
  return wrong.length === 0 ? holds(found) : broken(wrong.join('; '), advice);
}

/** A finding about one of several things. */
export function about(of: string, finding: Finding): Finding {
  return { ...finding, of };
}

/** A finding by which nothing fails. @param because why nothing does, which is added to what does not hold */
export function asRemark(finding: Finding, because = ''): Finding {
  if (finding.verdict === 'holds') return finding;
  const verdict = finding.verdict === 'broken' ? 'warning' : finding.verdict;
  return { ...finding, verdict, found: `${finding.found}${because}`, exitCode: 0 };
}
