import * as z from 'zod/mini';
import { dateProblem } from '../../core/export/logical-date.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/**
 * Refuses a logical date that CreateExport would refuse.
 * @throws CommandError (exit code 2), with the advice
 */
export function refuseDate(
  { TimeZone }: Pick<Target, 'TimeZone'>,
  { date, scheduledFor }: { date?: string | undefined; scheduledFor?: string | undefined },
  advice = '',
): void {
  const wanted = date ?? (scheduledFor === undefined ? undefined : dateOf(TimeZone, scheduledFor));
  if (wanted === undefined) return;
  // A person may have typed anything: only a date is repeated.
  const shown = z.iso.date().safeParse(wanted).success ? wanted : 'This';
  const problem = dateProblem(shown, dateIn(TimeZone, new Date()), TimeZone);
  if (problem !== undefined) throw new CommandError(`${problem}${advice}`, USAGE);
}

/** The date of a time in a zone; empty where the text is no time. */
export function dateOf(timeZone: string, time: string): string {
  const moment = new Date(time);
  return Number.isNaN(moment.getTime()) ? '' : dateIn(timeZone, moment);
}
