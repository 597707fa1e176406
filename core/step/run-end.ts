import type { Measures } from '../log/emf.ts';
import type { RunState } from './states.ts';
import { failedOnPurpose } from './verify-run.ts';

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
 * How an ExportRun ended; `undefined` where the run goes on. What the machine ends by itself is in the metrics of Step
 * Functions.
 */
export function exportRunEnd(answer: RunState, now: Date): RunEnd | undefined {
  if (answer.outcome === 'UNPUBLISHED') return { outcome: answer.outcome, measures: { RunsEnded: 1 } };
  // The file counts as published, and the table is there.
  if (answer.outcome === 'FAILED' && lacksChanges(answer)) return undefined;
  if (answer.outcome === 'FAILED' && lacksTable(answer))
    return { outcome: 'TableNotWritten', measures: { TablesNotWritten: 1 } };
  if (answer.outcome !== 'PUBLISHED' && answer.outcome !== 'TABLE_DUE') return failedExport(answer);
  const { startedAt, file, rows, warningCount, checks, run, released } = answer;
  return {
    // A run with a plan of its own does not stand for the night: the entity may be silent all the same.
    outcome: (run ?? released)?.kind === 'partial' ? 'PARTIAL' : 'PUBLISHED',
    measures: {
      RunsEnded: 1,
      // The two times are of different clocks. A release exports nothing.
      RunDuration: released ? undefined : Math.max(0, (now.getTime() - Date.parse(startedAt)) / 1000),
      FileBytes: file?.bytes,
      FileRows: rows ?? undefined,
      StatusChecks: released ? undefined : checks,
      FileWarnings: warningCount || undefined,
      SchemaChanges: run?.schemaChanges || undefined,
    },
  };
}

/** Whether only the table is missing: this run has counted as published before, or another run has. */
function lacksTable({ manifestKey, failure }: RunState): boolean {
  return manifestKey !== null || failure?.error === 'TableNotWritten';
}

function lacksChanges({ failure }: RunState): boolean {
  return failure?.error === 'ChangesStopped' || failure?.error === 'ChangesNotWritten';
}

/** A stopped file may be released: then nothing else tells that its columns have changed. */
function failedExport(answer: RunState): RunEnd | undefined {
  const end = failedEnd(answer);
  if (failedOnPurpose(answer.input, end?.outcome)) return { outcome: 'VERIFY', measures: { RunsEnded: 1 } };
  const changes = { SchemaChanged: 1, FileQuarantined: answer.run?.schemaChanges }[end?.outcome ?? ''];
  return end && changes ? { ...end, measures: { ...end.measures, SchemaChanges: changes } } : end;
}

/** How a run of CustomerUpdates ended. A chunk ends no batch; `apply-chunk.ts` counts a dead grant itself. */
export function batchEnd(answer: Ended & { chunk: object | null }): RunEnd | undefined {
  if (answer.outcome === 'SUMMARIZED') return { outcome: 'APPLIED', measures: { RunsEnded: 1 } };
  return answer.chunk ? undefined : failedEnd(answer);
}

function failedEnd({ outcome, failure }: Ended): RunEnd | undefined {
  return outcome === 'FAILED' && failure ? { outcome: failure.error, measures: { RunsEnded: 1 } } : undefined;
}
