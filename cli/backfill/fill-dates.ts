import type { Entity } from '../../core/config/entities.ts';
import { followRun } from '../runs/executions.ts';
import { outcomeWord } from '../runs/run/words.ts';
import type { Target } from '../support/target.ts';
import { together } from '../support/together.ts';
import type { BackfillDate } from './calendar.ts';
import { isPublished, runOfDate } from './date-run.ts';

interface FillOptions {
  concurrency: number;
  /** Starts no more runs, and follows none; those under way go on. */
  signal: AbortSignal;
  onChange: (date: BackfillDate) => void;
}

/**
 * Runs every date that is not published, oldest first, and follows each run to its end. The dates are changed in place.
 * @throws the signal's reason; what AWS refused, which ends the other dates too
 */
export async function fillDates(
  target: Target,
  entity: Entity,
  dates: BackfillDate[],
  { concurrency, signal, onChange }: FillOptions,
): Promise<void> {
  const left = dates.filter(({ state }) => state !== 'published');
  const change = (date: BackfillDate, to: Partial<BackfillDate>) => onChange(Object.assign(date, to));
  const fill = (date: BackfillDate, either: AbortSignal) => fillDate(target, entity, date, { signal: either, change });
  await together(left, fill, { signal, atOnce: concurrency });
}

interface DateOptions {
  signal: AbortSignal;
  change: (date: BackfillDate, to: Partial<BackfillDate>) => void;
}

async function fillDate(target: Target, entity: Entity, date: BackfillDate, { signal, change }: DateOptions) {
  for (;;) {
    const found = await runOfDate(target, entity, date.date, signal);
    if (!found) return change(date, { state: 'published' });
    change(date, { state: 'running', run: found.run });
    const run = await followRun(target.sfn, entity, found.executionArn, { signal });
    // The pointer says it: a run may end well and publish nothing.
    if (await isPublished(target, entity, date.date)) return change(date, { state: 'published', run });
    // One that was found may have been for another plan, or of an earlier command: the date needs one of its own.
    if (!found.started) continue;
    const error = run.status === 'SUCCEEDED' ? 'PublishedNothing' : outcomeWord(run);
    return change(date, { state: 'failed', run, error });
  }
}
