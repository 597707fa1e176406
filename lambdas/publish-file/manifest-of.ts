import { isDeepStrictEqual } from 'node:util';
import { fieldsOf } from '../../core/columns/changes.ts';
import { type JudgedFile, unchangedSince } from '../../core/export/judge.ts';
import { LAYOUT } from '../../core/export/layout.ts';
import type { Manifest } from '../../core/export/manifest.ts';
import { rowsOf } from '../../core/gate/facts.ts';
import { NOTHING_RELEASED } from '../../core/gate/history.ts';
import type { Run, RunState, StoredFile } from '../../core/step/states.ts';
import { warningsOf } from './warnings.ts';

interface Read {
  judged: JudgedFile;
  /** Warnings of the content. */
  remarks: string[];
}

/** The manifest of a stored file that was judged. */
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
