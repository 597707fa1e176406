import type * as z from 'zod/mini';
import type { JudgedFile } from '../../core/export/history.ts';
import { LAYOUT } from '../../core/export/layout.ts';
import { type Manifest, manifestSchema } from '../../core/export/manifest.ts';
import type { Run, RunState, StoredFile } from '../../core/step/states.ts';

interface Read {
  judged: JudgedFile;
  /** Warnings about the content. */
  warnings: string[];
}

/** The manifest of a stored file that the gate has checked. */
export function manifestOf(state: RunState, run: Run, file: StoredFile, { judged, warnings }: Read): Manifest {
  const { facts, history, report, passed } = judged;
  const manifest: z.input<typeof manifestSchema> = {
    schemaVersion: LAYOUT,
    execution: state.execution,
    startedAt: state.startedAt,
    run,
    file: { ...file, ...facts },
    state: !passed ? 'quarantined' : run.publish ? 'published' : 'unpublished',
    guards: report,
    releasedBefore: history.releasedBefore,
    checks: state.checks,
    unansweredCreates: state.unansweredCreates,
    warnings: [...run.remarks, ...warnings, ...warningsOf({ ...state, ...file }), ...judged.warnings],
  };
  // Removes what only the steps need, and keys of a later release.
  return manifestSchema.parse(manifest);
}

type Transferred = Pick<RunState, 'unansweredCreates'> & Pick<StoredFile, 'restarts' | 'undeclaredEnd'>;

/** Warnings for readers about the transfer of the file, in sentences. They do not stop a publication. */
function warningsOf({ unansweredCreates, restarts, undeclaredEnd }: Transferred): string[] {
  const many = restarts === 1 ? 'once' : `${restarts} times`;
  const warnings: [holds: boolean, warning: string][] = [
    [
      unansweredCreates > 0,
      'An earlier request may have made an export (its answer was lost, unreadable, or an error that does not rule it out): the CRM may hold a further export, which no run downloads.',
    ],
    [
      restarts > 0,
      `The download was restarted ${many}: the file had changed at its origin, or a stored part was missing.`,
    ],
    [
      undeclaredEnd,
      'The end of the connection was the only mark of the end of the file: the last rows may be missing.',
    ],
  ];
  return warnings.flatMap(([holds, warning]) => (holds ? [warning] : []));
}
