import type { Entity } from '../../core/config/entities.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { deployedConfiguration } from '../support/deployed-configuration.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/**
 * All dates from the first to the last, both included.
 * @throws CommandError (exit code 2) where the first is after the last
 */
export function datesBetween(from: string, to: string): string[] {
  if (from > to) throw new CommandError(`--from ${from} is after --to ${to}: nothing was started.`, USAGE);
  const dates = [from];
  for (let date = from; date < to; dates.push(date)) date = dateAfter(date, 1);
  return dates;
}

/**
 * Refuses a plan that does not depend on the date: today's records would be filed under days that are past.
 * @throws CommandError (exit code 2)
 */
export async function refuseSameData(target: Target, entity: Entity): Promise<void> {
  const { filters = [] } = (await deployedConfiguration(target)).entities[entity];
  if (filters.some(({ dependsOnDate }) => dependsOnDate)) return;
  const what = `The deployed plan of ${entity} does not depend on the date, so every run would file the data of today under its date.`;
  const advice = `Put a date into entities.${entity}.filters (docs/configuration.md, Relative dates) and deploy, or add --same-data.`;
  throw new CommandError(`${what} ${advice}`, USAGE);
}
