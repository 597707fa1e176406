import { isDeepStrictEqual } from 'node:util';
import type { EntityPlan } from '../config/entity-settings.ts';
import type { Manifest } from '../export/manifest.ts';
import type { Run } from '../step/states.ts';
import { type Facts, rowsIn } from './facts.ts';
import type { Accepted } from './report.ts';

/** A published export that a file is compared with. */
type PublishedExport = Pick<Manifest, 'execution' | 'run' | 'file'>;

/** The published exports of one plan that a file is compared with. */
export interface History {
  /**
   * Published exports, newest first. The export of the file's own date is included only if a person restarted the
   * history with it (`newNormal`).
   */
  comparedWith: PublishedExport[];
  /** The published export of the file's own date. */
  ofDate: PublishedExport | undefined;
  /** Findings that releases of these exports and of earlier exports have accepted, newest first. */
  releasedBefore: Accepted[];
  /**
   * Number of published exports that the comparison skips. Their pointer or manifest is missing or unreadable, although
   * their retention has not ended, or an earlier release wrote it.
   */
  unreadable: number;
}

export const NO_HISTORY: History = {
  comparedWith: [],
  ofDate: undefined,
  unreadable: 0,
  releasedBefore: [],
};

/** An export to judge, from the run that made it or from its manifest. */
export type Judged = Pick<
  Run,
  'entity' | 'date' | 'kind' | 'plan' | 'request' | 'exportId' | 'adopted' | 'excepted' | 'publish'
>;

/** The file that the gate checks, with everything that it is compared with. */
export interface Subject {
  run: Judged;
  /** Today's settings of the entity. */
  settings: EntityPlan;
  facts: Facts;
  history: History;
}

/**
 * Rows that the checks count: rows with a value. A first record that may be a header is not counted.
 * @returns `null` if the rows are not counted
 */
export function rowsThatCount({ rows: counted, content }: Pick<Facts, 'rows' | 'content'>): number | null {
  const rows = content?.headed === null ? rowsIn(content, true) : counted;
  return rows === null ? null : Math.max(0, rows - (content?.emptyRows ?? 0));
}

/**
 * The median number of rows of the exports whose rows were counted, or the mean of the middle two; `null` if there is
 * no such export.
 */
export function usualRows({ comparedWith }: History): number | null {
  const sorted = comparedWith.flatMap(({ file }) => rowsThatCount(file) ?? []).sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const low = sorted[Math.floor(middle)];
  const high = sorted[Math.ceil(middle)];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

/** The names of the columns. A header cell without text is not a column, unless it has values below it. */
export function columnsOf({ header }: Pick<Facts, 'header'>): string[] | null {
  return header?.filter((name) => name !== '') ?? null;
}

/** Counts the requested columns that a file lacks, and the other columns that it has; `null` if they are not known. */
export function columnChanges(
  { header, content }: Pick<Facts, 'header' | 'content'>,
  requested: readonly string[],
): { added: number; removed: number } | null {
  const named = columnsOf({ header });
  if (named) {
    const [present, wanted] = [new Set(named), new Set(requested)];
    const added = named.filter((name) => !wanted.has(name)).length + (content?.unnamed ?? 0);
    return { added, removed: requested.filter((name) => !present.has(name)).length };
  }
  if (content?.headed !== false || content.width === null) return null;
  const wider = content.width - requested.length;
  return { added: Math.max(0, wider), removed: Math.max(0, -wider) };
}

/**
 * The facts with the header that a person has released: if a released file had the same first record, the columns of
 * that release are the columns of this file.
 */
export function withReleasedHeader({ facts, history: { releasedBefore }, run: { request } }: Subject): Facts {
  const { content } = facts;
  const columns = content && releasedBefore.find(({ kind }) => kind === content.firstRecord)?.columns;
  // Releases of an earlier version may have given the requested names to columns in another order.
  if (!columns || (content.moved > 0 && isDeepStrictEqual(columns, request.columns))) return facts;
  return { ...facts, rows: rowsIn(content, true), header: [...columns], content: { ...content, headed: true } };
}
