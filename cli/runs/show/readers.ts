import * as z from 'zod/mini';
import { RunError } from '../../../core/errors.ts';
import { parseJson } from '../../../core/json.ts';
import { ifReadable, type Manifests } from '../../data/manifests.ts';
import { quoted } from '../../support/command-options.ts';
import { CommandError } from '../../support/exit.ts';
import type { FoundRun } from '../find-run.ts';
import { reckonedDate } from '../list/list-runs.ts';
import type { ShownRun } from './show-run.ts';

/** What readers have where a run failed. */
export interface Readers {
  ofDate: PublishedDate | null;
  latest: PublishedDate | null;
}

interface PublishedDate {
  date: string;
  run: string;
}

/** What readers have after a failed run, and the command that makes it up where nothing is published for its date. */
export async function aftermathOf(
  manifests: Manifests,
  { name, entity, status, startDate }: FoundRun,
  known: Known,
): Promise<Pick<ShownRun, 'date' | 'readers' | 'makeUp'>> {
  const { date: begun, input, timeZone, warn } = known;
  const failed = status !== 'RUNNING' && status !== 'SUCCEEDED';
  if (!entity || !failed) return { date: begun ?? null, readers: null, makeUp: null };
  const date = begun ?? (timeZone && reckonedDate(input, startDate, timeZone));
  const named = async (which: string | undefined) => {
    const pointer = which && (await ifReadable(manifests.pointer(entity, which), warn));
    return pointer ? { date: pointer.date, run: pointer.execution } : null;
  };
  const readers = await Promise.all([named(date), named('latest')]).then(
    ([ofDate, latest]) => ({ ofDate, latest }),
    (trouble: unknown) => notKnown(trouble, warn),
  );
  const makeUp = makeUpOf({ name, entity, date }, readers, known);
  return { date: date ?? null, readers, makeUp };
}

function makeUpOf(
  { name, entity, date }: { name: string; entity: string; date: string | undefined },
  readers: Readers | null,
  { input, error, adoptable, releasable, tableOf }: Known,
): string | null {
  if (error === 'TableNotWritten') return `table ${quoted(tableOf)}`;
  if (readers?.ofDate || FAILS_AGAIN.has(error ?? '')) return null;
  if (error === 'FileQuarantined' && releasable) return `release ${quoted(name)} --reason "…"`;
  const plain = !adoptable && parseJson(plainInputSchema, input) && date;
  return plain ? `start ${entity} --date ${date}` : `retry ${quoted(name)}`;
}

/** The bucket may be why the run failed: the rest is shown. */
function notKnown(trouble: unknown, warn: Known['warn']): null {
  if (!(trouble instanceof CommandError || trouble instanceof RunError)) throw trouble;
  warn(`What readers have is not known: ${trouble.message}`);
  return null;
}

/** With the same input, which is refused or too large. */
const FAILS_AGAIN = new Set(['InvalidInput', 'States.DataLimitExceeded']);

interface Known {
  /** Of the run, where it had begun. */
  date: string | undefined;
  input: string | undefined;
  error: string | null;
  timeZone: string | undefined;
  /** The run whose table it writes, or should have written. */
  tableOf: string;
  /** Whether a retry adopts its export. */
  adoptable: boolean;
  /** Whether a person may release its file. */
  releasable: boolean;
  warn: (sentence: string) => void;
}

/** An input that `start` can give; `retry` gives any. */
const plainInputSchema = z.strictObject({
  entity: z.string(),
  date: z.optional(z.string()),
  scheduledFor: z.optional(z.string()),
});

export function readersText({ ofDate, latest }: Readers, entity: string, date: string | null): string {
  if (ofDate) return `Readers have ${entity} of ${ofDate.date}, from ${ofDate.run}.`;
  const missing = date === null ? '' : `nothing of ${date}, `;
  if (!latest) return `Readers have no ${entity} at all.`;
  return `Readers have ${missing}still ${entity} of ${latest.date}, from ${latest.run}.`;
}
