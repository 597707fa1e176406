import { isDeepStrictEqual } from 'node:util';
import { fieldsOf } from '../../core/columns/column-changes.ts';
import { type JudgedFile, unchangedSince } from '../../core/export/judge.ts';
import { LAYOUT } from '../../core/export/layout.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { rowsOf } from '../../core/gate/facts.ts';
import { NOTHING_RELEASED } from '../../core/gate/subject.ts';
import type { Run, RunState, StoredFile } from '../../core/step/states.ts';

interface Read {
  judged: JudgedFile;
  /** Warnings about the content. */
  remarks: string[];
}

/** The manifest of a stored file that the gate has checked. */
export function manifestOf(state: RunState, run: Run, file: StoredFile, { judged, remarks }: Read): Manifest {
  const { facts, history, report, passed } = judged;
  return {
    schemaVersion: LAYOUT,
    entity: run.entity,
    date: run.date,
    execution: state.execution,
    startedAt: state.startedAt,
    file: fileOf(file, facts),
    export: {
      id: run.exportId,
      createdAt: run.createdAt,
      adoptedFrom: run.adopted,
      storedAt: file.storedAt,
      checks: state.checks,
      unansweredCreates: state.unansweredCreates,
      restarts: file.restarts,
    },
    request: run.request,
    fingerprint: run.fingerprint,
    state: !passed ? 'quarantined' : run.publish ? 'published' : 'unpublished',
    guards: report,
    plan: run.plan,
    kind: run.kind,
    differs: run.differs,
    fields: fieldsOf(run),
    drift: run.drift,
    leftOut: run.excepted.map(({ entry, name, label }) => ({ entry, name, label })),
    releasedBefore: carriedOn(history.releasedBefore),
    unchangedSince: unchangedSince(history, { date: run.date, file }),
    keptUntil: run.keptUntil,
    softwareVersion: run.softwareVersion,
    warnings: [...run.remarks, ...remarks, ...warningsOf({ ...state, ...file }), ...judged.remarks],
  };
}

function fileOf({ key, bytes, crc32, contentType }: StoredFile, facts: JudgedFile['facts']): Manifest['file'] {
  const { format, compression, dialect, header, content } = facts;
  return { key, bytes, crc32, contentType, format, compression, dialect, rows: rowsOf(facts), header, content };
}

function carriedOn(released: NonNullable<Manifest['releasedBefore']>): Manifest['releasedBefore'] {
  return isDeepStrictEqual(released, NOTHING_RELEASED) ? null : released;
}

type Transferred = Pick<RunState, 'unansweredCreates'> & Pick<StoredFile, 'restarts' | 'undeclaredEnd'>;

/** Warnings for readers about the transfer of the file, in sentences. They do not stop a publication. */
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
