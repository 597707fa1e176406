import { type ListedField, listedOf, NOT_LISTED } from '../../core/columns/column-changes.ts';
import { LAYOUT } from '../../core/export/layout.ts';
import { type Manifest, manifestSchema } from '../../core/export/manifest.ts';
import { type Pointer, pointerSchema } from '../../core/export/pointer.ts';
import { CONTENT_NOT_READ, type Content } from '../../core/gate/facts.ts';

/** The parts of a manifest that a test sets: fields of its run and of the manifest itself, and parts of its file. */
export type ManifestChanges = Partial<Omit<Manifest, 'run' | 'file'> & Manifest['run']> & {
  file?: Partial<Manifest['file']>;
  fields?: ListedField[];
};

/** The dialect of a usual CSV file. */
export const DIALECT = {
  ...{ encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' },
} as const;

export function manifestKeyOf(execution: string, entity = 'leads'): string {
  return `runs/entity=${entity}/run=${execution}/_manifest.json`;
}

/** The manifest of a run of leads that published one record with the columns `id` and `name`, at 01:00 of its date. */
export function manifestOf({ file = {}, fields, ...changes }: ManifestChanges = {}): Manifest {
  const { entity = 'leads', date = '2026-11-20', execution = 'leads-night' } = changes;
  const {
    startedAt = `${date}T01:00:00.000Z`,
    request = { columns: fields?.map(({ name }) => name) ?? ['id', 'name'] },
  } = changes;
  return manifestSchema.parse({
    schemaVersion: LAYOUT,
    execution,
    startedAt,
    state: 'published',
    guards: null,
    releasedBefore: [],
    checks: 2,
    unansweredCreates: 0,
    warnings: [],
    ...changes,
    run: {
      entity,
      date,
      exportId: '0b1c2d3e-4f50-4617-8829-3a4b5c6d7e8f',
      createdAt: startedAt,
      adopted: null,
      softwareVersion: '1.0.0',
      fingerprint: 'f',
      request,
      listed: fields ? listedOf(fields, request) : NOT_LISTED,
      keptUntil: '2099-01-01',
      plan: 'a'.repeat(64),
      kind: 'full',
      differs: [],
      excepted: [],
      drift: null,
      ...changes,
    },
    file: {
      key: `runs/entity=${entity}/run=${execution}/${entity}.csv`,
      bytes: 12,
      crc32: 'AAAAAA==',
      contentType: 'text/csv',
      storedAt: `${date}T01:00:04.000Z`,
      restarts: 0,
      undeclaredEnd: false,
      format: 'csv',
      compression: null,
      dialect: null,
      rows: 1,
      header: ['id', 'name'],
      content: CONTENT,
      ...file,
    },
  });
}

export function stoppedBy(guard: string, { measured = 0.99, ...more }: Stopped = {}): ManifestChanges {
  const check = { guard, passed: false, measured, bound: 0.5, detail: null };
  return { state: 'quarantined', guards: { checks: [check], comparedWith: [], medianRows: 100, ...more } };
}

type Stopped = Partial<NonNullable<Manifest['guards']>> & { measured?: number };

/** The content of a file with a header of two columns. */
const CONTENT: Content = { ...CONTENT_NOT_READ, width: 2, headed: true, unlisted: 0, excepted: 0 };

export function pointerTo({ startedAt, execution, run }: Manifest): Pointer {
  const { entity, date, keptUntil, kind } = run;
  const manifestKey = manifestKeyOf(execution, entity);
  return pointerSchema.parse({
    ...{ schemaVersion: LAYOUT, entity, date, startedAt, execution, manifestKey, keptUntil, kind },
    ...{ released: false, newNormal: false },
  });
}
