import * as z from 'zod/mini';
import type { Deployment } from '../../core/config/deployment.ts';
import type { Entity } from '../../core/config/entities.ts';
import { dependsOnDate } from '../../core/config/relative-date.ts';
import { dateProblem } from '../../core/export/logical-date.ts';
import { dateIn } from '../../core/schedule/local-time.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/**
 * Refuses a logical date that CreateExport would refuse.
 * @throws CommandError (exit code 2) with the advice
 */
export function refuseDate(
  { TimeZone }: Pick<Target, 'TimeZone'>,
  { date, scheduledFor }: { date?: string | undefined; scheduledFor?: string | undefined },
  advice = '',
): void {
  const wanted = date ?? (scheduledFor === undefined ? undefined : dateOf(TimeZone, scheduledFor));
  if (wanted === undefined) return;
  // The input may contain any text: the message repeats it only if it is a date.
  const shown = z.iso.date().safeParse(wanted).success ? wanted : 'This';
  const problem = dateProblem(shown, dateIn(TimeZone, new Date()), TimeZone);
  if (problem !== undefined) throw new CommandError(`${problem}${advice}`, USAGE);
}

/** The date of a time in a time zone; empty if the text is not a valid time. */
export function dateOf(timeZone: string, time: string): string {
  const moment = new Date(time);
  return Number.isNaN(moment.getTime()) ? '' : dateIn(timeZone, moment);
}

/**
 * Refuses plans that do not depend on the date: a run would store the current records under a past date.
 * @param where the date in words, for the message
 * @throws CommandError (exit code 2)
 */
export async function refuseSameData(target: Target, entities: Entity[], where: string): Promise<void> {
  const deployed = await deployedConfiguration(target);
  const undated = entities.filter((entity) => !isDated(deployed, entity));
  if (undated.length === 0) return;
  const [it, plans] = undated.length > 1 ? ['do', 'plans'] : ['does', 'plan'];
  const what = `The deployed ${plans} of ${undated.join(', ')} ${it} not depend on the date, so every run would store the data of today ${where}.`;
  const advice = `Add a date to entities.${undated.length > 1 ? 'ENTITY' : undated[0]}.filters (docs/configuration.md, Relative dates) and deploy, or add --same-data.`;
  throw new CommandError(`${what} ${advice}`, USAGE);
}

/** Whether the plan of an entity selects other records for another date. @param deployment configured or deployed */
export function isDated({ entities }: Deployment, entity: Entity): boolean {
  const { filters = [] } = entities[entity];
  return dependsOnDate(filters) || filters.some((filter) => filter.dependsOnDate === true);
}
