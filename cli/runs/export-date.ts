import * as z from 'zod';
import { dateIn, dateProblem } from '../../core/export/logical-date.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/** UTC+14, where every date begins first: what is still to come there is so everywhere. */
const FIRST_ZONE = 'Etc/GMT-14';

/**
 * Refuses a logical date that CreateExport would refuse, before anything is started. Of a deployment that does not tell its
 * zone, what is doubtful is left to CreateExport.
 * @param advice said behind what is wrong
 * @throws CommandError (exit code 2)
 */
export function refuseDate(
  { TimeZone = FIRST_ZONE }: Pick<Target, 'TimeZone'>,
  { date, scheduledFor }: { date?: string | undefined; scheduledFor?: string | undefined },
  advice = '',
): void {
  const wanted = date ?? (scheduledFor === undefined ? undefined : dateOf(TimeZone, scheduledFor));
  if (wanted === undefined) return;
  // Other text that a person typed is not repeated.
  const shown = z.iso.date().safeParse(wanted).success ? wanted : 'This';
  const problem = dateProblem(shown, dateIn(TimeZone, new Date()), TimeZone);
  if (problem !== undefined) throw new CommandError(`${problem}${advice}`, USAGE);
}

function dateOf(timeZone: string, time: string): string {
  const moment = new Date(time);
  return Number.isNaN(moment.getTime()) ? '' : dateIn(timeZone, moment);
}
