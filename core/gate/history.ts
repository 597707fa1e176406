import * as z from 'zod/mini';
import { endingSchema, type Facts } from './facts.ts';

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
