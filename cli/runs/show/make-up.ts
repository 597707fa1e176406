import * as z from 'zod/mini';
import { quoted } from '../../support/command-options.ts';
import { readInput } from '../run/input.ts';
import type { Run } from '../run/run.ts';

/** A run with the same input fails again for these: the input is refused, or too large. */
const FAILS_AGAIN = new Set(['InvalidInput', 'States.DataLimitExceeded']);

/** An input that `start` can give; `retry` gives any. */
const plainInputSchema = z.strictObject({
  entity: z.string(),
  date: z.optional(z.string()),
  scheduledFor: z.optional(z.string()),
});

interface Known {
  /** The input of the execution. */
  input: string | undefined;
  /** Whether a retry adopts its export. */
  adoptable: boolean;
  /** Whether a person may release its file. */
  releasable: boolean;
}

/** The command that publishes what a failed run did not; null where something is published, or the same input would fail again. */
export function makeUpOf(run: Run, { input, adoptable, releasable }: Known): string | null {
  const { run: name, of, entity, date, status, error, outcome, readers } = run;
  if (error === 'TableNotWritten') return `table ${quoted(of ?? name)}`;
  // File and table are there; the next night tells what this one did not.
  if (error === 'ChangesStopped' || error === 'ChangesNotWritten') return null;
  if (!entity || status === 'RUNNING' || status === 'SUCCEEDED') return null;
  if (readers?.ofDate || FAILS_AGAIN.has(error ?? '')) return null;
  if (outcome === 'quarantined' && releasable) return `release ${quoted(name)} --reason "…"`;
  const plain = !adoptable && date !== null && plainInputSchema.safeParse(readInput(input).given).success;
  return plain ? `start ${entity} --date ${date}` : `retry ${quoted(name)}`;
}
