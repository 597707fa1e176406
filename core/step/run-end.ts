import type { Measures } from '../log/emf.ts';
import type { RunState } from './states.ts';

/** What is counted where a run ends. */
export interface RunEnd {
  outcome: string;
  measures: Measures;
}

interface Ended {
  outcome: string | null;
  failure: { error: string; cause: string } | null;
}

/**
 * The end of a run of ExportRun that this answer is, or `undefined` where the run goes on. Every end that a function
 * answers passes here: PUBLISHED, and FAILED under the error's name. What the machine ends by itself (a crash, a time limit,
 * a person who stops it) is in the metrics of Step Functions, and in none of these.
 *
 * An invocation whose answer was lost is repeated, and then counts twice. That moves no file and no run: alarms ask whether
 * there was any, and the numbers of a night are in the manifests.
 */
export function exportRunEnd(answer: RunState, now: Date): RunEnd | undefined {
  if (answer.outcome !== 'PUBLISHED') return failedEnd(answer);
  const { startedAt, file, rows, warningCount, checks } = answer;
  return {
    outcome: answer.outcome,
    measures: {
      RunsEnded: 1,
      // The two times are of different clocks.
      RunDuration: Math.max(0, (now.getTime() - Date.parse(startedAt)) / 1000),
      FileBytes: file?.bytes,
      FileRows: rows ?? undefined,
      StatusChecks: checks,
      FileWarnings: warningCount || undefined,
    },
  };
}

/**
 * The same for CustomerUpdates: APPLIED, or the error's name. A chunk ends no batch, whatever it fails for; that it found the
 * grant dead it counts itself (`apply-chunk.ts`).
 */
export function batchEnd(answer: Ended & { chunk: object | null }): RunEnd | undefined {
  if (answer.outcome === 'SUMMARIZED') return { outcome: 'APPLIED', measures: { RunsEnded: 1 } };
  return answer.chunk ? undefined : failedEnd(answer);
}

function failedEnd({ outcome, failure }: Ended): RunEnd | undefined {
  return outcome === 'FAILED' && failure ? { outcome: failure.error, measures: { RunsEnded: 1 } } : undefined;
}
