import type { RunState, StoredFile } from '../../core/step/states.ts';

type Transferred = Pick<RunState, 'unansweredCreates'> & Pick<StoredFile, 'restarts' | 'undeclaredEnd'>;

/** What readers should know of how the file came, in sentences. None of them stops a publication. */
export function warningsOf({ unansweredCreates, restarts, undeclaredEnd }: Transferred): string[] {
  const many = restarts === 1 ? 'once' : `${restarts} times`;
  const warnings: [holds: boolean, warning: string][] = [
    [
      unansweredCreates > 0,
      'Whether a first request made an export is not known (its answer was lost, unreadable, or an error that does not say): the CRM may hold a further export that nobody collects.',
    ],
    [restarts > 0, `The file was restarted ${many}: it had changed at its origin, or what was stored of it was gone.`],
    [undeclaredEnd, 'Nothing but the closing of the connection marked the end of the file: rows may be missing there.'],
  ];
  return warnings.flatMap(([holds, warning]) => (holds ? [warning] : []));
}
