import { partialFailure } from '../support/aws-error.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import { CommandError, RUN_FAILED } from '../support/exit.ts';
import type { TargetOptions } from '../support/target.ts';
import { manyText } from '../support/text.ts';
import { together } from '../support/together.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import type { Run } from './run.ts';

/** Dates for which a command starts one run each: `backfill` and `table --outdated`. */

export interface DatedRun<State extends string> {
  date: string;
  state: State;
  /** The run of the date, if this command knows one. */
  run: Run | null;
  /** Why it failed. */
  error: string | null;
}

interface Filling {
  /** The command that continues after a break. */
  again: string;
  /** Number of dates at the same time. */
  atOnce: number;
  /** The document of `--json` for an error. */
  document?: object | undefined;
}

/**
 * Fills the dates, oldest first. An error of AWS for one date ends the others too.
 * @throws CommandError: 130 after Ctrl-C, which stops no run; the error of AWS
 */
export function fillDates<T>(
  dates: T[],
  fill: (date: T, signal: AbortSignal) => Promise<void>,
  { again, atOnce, document }: Filling,
): Promise<unknown> {
  const words = `Stopped. No more runs are started, and those that are under way continue. To continue: ${again}`;
  return untilInterrupted(words, async (signal) => {
    const fillOne = (date: T, either: AbortSignal) => {
      either.throwIfAborted();
      return fill(date, either);
    };
    await together(dates, fillOne, { signal, atOnce }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      throw partialFailure(error, `Runs that are under way continue. To continue: ${again}`, document);
    });
  });
}

/** `2026-03-01: failed, leads-backfill-2026-03-01-1, ExportFailed` @param word for the state of the date */
export function dateText({ date, run, error }: DatedRun<string>, word: string): string {
  return [`${date}: ${word}`, run?.run, error].filter(Boolean).join(', ');
}

/**
 * @param what was to be made for each date, such as a table
 * @throws CommandError (exit code 1) that names the failed dates, if there are any
 */
export function refuseFailed(
  dates: DatedRun<string>[],
  what: string,
  again: string,
  { documented = false, ...place }: TargetOptions & { documented?: boolean },
): void {
  const failed = dates.filter(({ state }) => state === 'failed');
  if (failed.length === 0) return;
  const first = failed.find(({ run }) => run)?.run;
  const lines = [
    `${manyText(failed.length, what)} failed:`,
    ...failed.map(({ date, run, error }) => `  ${date}: ${error}${run ? ` (${run.run})` : ''}`),
    ...(first ? [`Why, and what helps: ${commandFor(`show ${quoted(first.run)}`, place)}`] : []),
    `To start them again: ${again}`,
  ];
  throw new CommandError(lines.join('\n'), RUN_FAILED, { documented });
}
