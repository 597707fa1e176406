import type { Manifest } from '../../core/export/manifest.ts';
import { CONTENT_NOT_READ, type Content, type Facts } from '../../core/gate/facts.ts';
import { type History, type Judged, NO_HISTORY, type Subject } from '../../core/gate/subject.ts';
import { deployment, run } from './builders.ts';
import { DIALECT, manifestOf } from './manifests.ts';

/** Facts of a good file with the columns `id` and `name`. @param rows the number of rows; `null` = not counted */
export function factsOf(rows: number | null, content: Partial<Content> = {}, overrides: Partial<Facts> = {}): Facts {
  return {
    bytes: 1000,
    format: 'csv',
    compression: null,
    header: ['id', 'name'],
    dialect: DIALECT,
    rows,
    content: {
      ...CONTENT_NOT_READ,
      records: (rows ?? 0) + 1,
      width: 2,
      headed: true,
      excepted: 0,
      unlisted: 0,
      ending: { cells: 2, lineBreak: true },
      ...content,
    },
    ...overrides,
  };
}

/** The export of a night the given number of days before 2026-11-20. */
export function night(facts: Facts, daysAgo: number, overrides: Partial<Manifest['run']> = {}): Manifest {
  const date = new Date(Date.UTC(2026, 10, 20 - daysAgo)).toISOString().slice(0, 10);
  const execution = `n${daysAgo}`;
  const manifest = manifestOf({ date, execution, file: { ...facts, crc32: execution } });
  return { ...manifest, run: { ...manifest.run, exportId: `export-${daysAgo}`, ...overrides } };
}

export const historyOf = (...nights: Facts[]): History => ({
  ...structuredClone(NO_HISTORY),
  comparedWith: nights.map((facts, index) => night(facts, index + 1)),
});

/** Settings and facts of the run that differ from the usual ones. */
export interface Promised {
  excepting?: boolean;
  required?: string[];
  headerless?: boolean;
  guards?: object;
  drift?: object;
}

interface SubjectOptions extends Partial<Omit<Subject, 'run' | 'settings' | 'facts'>> {
  run?: Partial<Judged>;
  promised?: Promised;
}

/** The file of 2026-11-20. */
export function subjectOf(
  facts: Facts,
  { promised = {}, run: overrides, history = NO_HISTORY }: SubjectOptions = {},
): Subject {
  const { excepting, required, headerless, guards = {}, drift = {} } = promised;
  const leads = { columns: { ...(required && { required }), ...(headerless && { header: 'none' }) }, guards, drift };
  const excepted = excepting ? [{ entry: 'idNumber', name: 'idNumber', label: null }] : [];
  return {
    run: run({ exportId: 'export-0', request: { columns: ['id', 'name'] }, excepted, ...overrides }),
    settings: deployment({ entities: { leads } }).entities.leads,
    facts,
    history,
  };
}
