import type { Manifest } from '../../core/export/manifest.ts';
import { type Content, type Facts, UNSEEN } from '../../core/gate/facts.ts';
import type { Promised, Subject } from '../../core/gate/subject.ts';
import { type History, NO_HISTORY } from '../../core/gate/subject.ts';
import { deployment } from './builders.ts';
import { manifestOf } from './manifests.ts';

/** Facts of a good file with the columns `id` and `name`. @param rows the number of rows; `null` = not counted */
export function factsOf(rows: number | null, content: Partial<Content> = {}, overrides: Partial<Facts> = {}): Facts {
  return {
    bytes: 1000,
    format: 'csv',
    compression: null,
    header: ['id', 'name'],
    dialect: { encoding: 'utf-8', byteOrderMark: false, separator: ',', separatorLine: false, lineBreak: 'lf' },
    content: {
      ...UNSEEN,
      rows,
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

const PLAN = deployment().entities.leads;

const PROMISED: Promised = {
  columns: ['id', 'name'],
  excepting: false,
  required: [],
  headerless: false,
  guards: PLAN.guards,
  drift: PLAN.drift,
};

type Given = Partial<Omit<Subject, 'promised' | 'facts'>> & { promised?: Partial<Promised> };

/** The file of 2026-11-20. */
export function subjectOf(facts: Facts, { promised, ...overrides }: Given = {}): Subject {
  return {
    date: '2026-11-20',
    exportId: 'export-0',
    adopted: false,
    facts,
    history: NO_HISTORY,
    ...overrides,
    promised: { ...PROMISED, ...promised },
  };
}
