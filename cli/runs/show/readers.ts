import * as z from 'zod';
import { RunError } from '../../../core/errors.ts';
import { jsonOrUndefined } from '../../../core/json.ts';
import { ifReadable, type Manifests } from '../../data/manifests.ts';
import { CommandError } from '../../support/exit.ts';
import type { FoundRun } from '../find-run.ts';
import { reckonedDate } from '../list/list-runs.ts';

/** What readers have where a run brought nothing: the date's file, the latest one, and the run that each is from. */
export interface Readers {
  ofDate: Published | null;
  latest: Published | null;
}

interface Published {
  date: string;
  run: string;
}

interface Aftermath {
  date: string | null;
  readers: Readers | null;
  makeUp: string | null;
}

/** What a run that failed means for readers, and the command that makes it up where nothing is published for its date. */
export async function aftermathOf(
  manifests: Manifests,
  { name, entity, status, startDate }: FoundRun,
  { date: begun, input, timeZone, warn }: Known,
): Promise<Aftermath> {
  if (!entity || status === 'RUNNING' || status === 'SUCCEEDED')
    return { date: begun ?? null, readers: null, makeUp: null };
  const date = begun ?? (timeZone && reckonedDate(input, startDate, timeZone));
  const named = async (which: string | undefined) => {
    const pointer = which && (await ifReadable(manifests.pointer(entity, which), warn));
    return pointer ? { date: pointer.date, run: pointer.execution } : null;
  };
  const readers = await Promise.all([named(date), named('latest')]).then(
    ([ofDate, latest]) => ({ ofDate, latest }),
    (error: unknown) => {
      // The bucket may be why the run failed: the rest is shown.
      if (!(error instanceof CommandError || error instanceof RunError)) throw error;
      warn(`What readers have is not known: ${error.message}`);
      return null;
    },
  );
  const plain = plainInputSchema.safeParse(jsonOrUndefined(input)).success;
  const makeUp = plain && date ? `start ${entity} --date ${date}` : `retry ${name}`;
  return { date: date ?? null, readers, makeUp: readers?.ofDate ? null : makeUp };
}

interface Known {
  /** Of the run, where it had begun. */
  date: string | undefined;
  input: string | undefined;
  /** The zone in which a run gets its date. */
  timeZone: string | undefined;
  warn: (sentence: string) => void;
}

/** An input that `start` can give; `retry` gives any. */
const plainInputSchema = z.strictObject({
  entity: z.string(),
  date: z.string().optional(),
  scheduledFor: z.string().optional(),
});

export function readersText({ ofDate, latest }: Readers, entity: string, date: string | null): string {
  if (ofDate) return `Readers have ${entity} of ${ofDate.date}, from ${ofDate.run}.`;
  const missing = date === null ? '' : `nothing of ${date}, `;
  if (!latest) return `Readers have no ${entity} at all.`;
  return `Readers have ${missing}still ${entity} of ${latest.date}, from ${latest.run}.`;
}
