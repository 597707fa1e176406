import * as z from 'zod/mini';
import type { DriftPolicy, GuardSettings } from '../config/entity-settings.ts';
import { type Content, type Ending, endingSchema, type Facts } from './facts.ts';

/** What a person has released of files of a plan, so that later ones of the same kind need nobody. */
export const releasedBeforeSchema = z.object({
  headers: z
    .array(z.object({ firstRecord: z.string(), columns: z.array(z.string()) }))
    .check(z.describe('SHA-256 of first records, and the columns that each was released for.')),
  endings: z
    .array(z.extend(endingSchema, { width: z.nullable(z.int()), format: z.nullable(z.string()) }))
    .check(z.describe('How such files end, with the width and format of the released one.')),
  empty: z.boolean().check(z.describe('A file may hold nothing.')),
  laterHeaders: z.boolean().check(z.describe('A file may have headers further down.')),
});
export type ReleasedBefore = z.infer<typeof releasedBeforeSchema>;

export const NOTHING_RELEASED: ReleasedBefore = { headers: [], endings: [], empty: false, laterHeaders: false };

/** A published export that a file is compared with. */
export interface PublishedExport {
  date: string;
  execution: string;
  exportId: string;
  crc32: string;
  unchangedSince: string | null;
  facts: Facts;
}

/** What is published of one plan, as far as a file is compared with it. */
export interface History {
  /**
   * Published exports, newest first. Those of the file's own date are among them only where the history begins there.
   */
  comparedWith: PublishedExport[];
  /** What readers have of the file's own date. */
  ofDate: PublishedExport | undefined;
  /** What a person has released of them, and of files before them. */
  releasedBefore: ReleasedBefore;
  /** Pointers or manifests that are gone or say nothing, though they are to be kept: they are left out. */
  unreadable: number;
  /** Pointers of an earlier release, which count as none. */
  earlier: number;
}

export const NO_HISTORY: History = {
  comparedWith: [],
  ofDate: undefined,
  unreadable: 0,
  earlier: 0,
  releasedBefore: NOTHING_RELEASED,
};

/** What the settings promise of a file, as they are today. */
export interface Promised {
  /** The requested columns, in order. */
  columns: readonly string[];
  /** Whether any column is left out. */
  excepting: boolean;
  /** Columns without which no file is wanted. */
  required: readonly string[];
  /** The first record is a row (`columns.header`). */
  headerless: boolean;
  guards: GuardSettings;
  drift: DriftPolicy;
}

/** What the gate is asked about. */
export interface Subject {
  /** The date of the file. */
  date: string;
  exportId: string;
  /** An earlier run requested the export. */
  adopted: boolean;
  facts: Facts;
  promised: Promised;
  history: History;
}

/**
 * Rows that count for guards: those with a value. A first record that may be a header is taken for one.
 * @returns `null` where they are not counted
 */
export function rowsThatCount({ empty, content }: Pick<Facts, 'empty' | 'content'>): number | null {
  if (empty) return 0;
  const rows = content?.headed === null ? rowsBelow(content) : (content?.rows ?? null);
  return rows === null ? null : Math.max(0, rows - (content?.emptyRows ?? 0));
}

/** How the last published file ends: an empty one says nothing of that, and a spreadsheet has no line breaks. */
export function endingBefore({ facts: { format }, history: { comparedWith } }: Subject): Ending | null {
  const before = comparedWith.find(({ facts }) => !facts.empty)?.facts;
  return format === 'csv' && before?.format === 'csv' ? (before.content?.ending ?? null) : null;
}

/** How released files of the same width and format end. */
export function releasedEndings({ endings }: History['releasedBefore'], { format, content }: Facts): Ending[] {
  return endings.filter((known) => known.format === format && known.width === (content?.width ?? null));
}

/** The median over the exports whose rows were counted; `null` where none was. */
export function usualRows({ comparedWith }: History): number | null {
  return medianOf(comparedWith.flatMap(({ facts }) => rowsThatCount(facts) ?? []));
}

/** The median; of an even number of values, the mean of the two in the middle. */
function medianOf(numbers: number[]): number | null {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const low = sorted[Math.floor(middle)];
  const high = sorted[Math.ceil(middle)];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}

/** Cells of the header that are no column: those without a text and without values below. */
export function columnsOf({ header }: Pick<Facts, 'header'>): string[] | null {
  return header?.filter((name) => name !== '') ?? null;
}

/**
 * Names of the columns that a file shows: by its header or, where files have none, by its width; `null` where they are not
 * known.
 */
export function shownColumns(
  facts: Pick<Facts, 'header' | 'content'>,
  { columns, headerless }: Pick<Promised, 'columns' | 'headerless'>,
): readonly string[] | null {
  const { headed = null, width = null } = facts.content ?? {};
  return headerless && headed === false && width === columns.length ? columns : columnsOf(facts);
}

/** How a file lacks requested columns and has others; `null` where its columns are not known. */
export function columnChanges(
  { header, content }: Pick<Facts, 'header' | 'content'>,
  requested: readonly string[],
): { added: number; removed: number } | null {
  const named = columnsOf({ header });
  if (named) {
    const added = named.filter((name) => !requested.includes(name)).length + (content?.unnamed ?? 0);
    return { added, removed: requested.filter((name) => !named.includes(name)).length };
  }
  if (content?.headed !== false || content.width === null) return null;
  const wider = content.width - requested.length;
  return { added: Math.max(0, wider), removed: Math.max(0, -wider) };
}

/**
 * The file as it is known once a person has released another one with the same first record: that one stands for the
 * columns that it was released for.
 */
export function withKnownHeader(facts: Facts, { releasedBefore }: History): Facts {
  const { header, content } = facts;
  if (header || !content || content.firstRecord === null) return facts;
  const known = releasedBefore.headers.find(
    ({ firstRecord, columns }) => firstRecord === content.firstRecord && columns.length === content.width,
  );
  if (!known) return facts;
  return { ...facts, header: [...known.columns], content: { ...content, headed: true, rows: rowsBelow(content) } };
}

/** Rows of a file whose first record is the header; a file of which nothing was counted has none. */
function rowsBelow({ records, doubts, repeatedHeaders }: Content): number | null {
  return doubts > 0 || records === 0 ? null : records - 1 - repeatedHeaders;
}
