import { ConfigurationError } from '../../core/config/configuration.ts';
import { differencesFrom, planKey } from '../../core/config/deployed.ts';
import type { Entity } from '../../core/config/entities.ts';
import { dependsOnDate } from '../../core/export/relative-dates.ts';
import { dateAfter } from '../../core/schedule/local-time.ts';
import { type ConfigurationOptions, configurationOrError } from '../support/configuration-file.ts';
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
 * Refuses a plan that does not depend on the date: today's records would be filed under days that are past. Only the
 * deployed plan counts, of which the outputs of the stack have a digest.
 * @returns what to do once the stack is found; the file alone is judged at once
 * @throws ConfigurationError, CommandError (exit code 2)
 */
export function refuseSameData(entity: Entity, options: ConfigurationOptions): (target: Target) => void {
  const found = configurationOrError(options);
  if (found instanceof ConfigurationError) throw found;
  const { deployment, file } = found;
  if (!dependsOnDate(deployment.entities[entity].filters)) {
    const what = `The plan of ${entity} in ${file} does not depend on the date, so every run would file the data of today under its date.`;
    const advice = `Put a date into entities.${entity}.filters (docs/configuration.md, Relative dates) and deploy, or add --same-data.`;
    throw new CommandError(`${what} ${advice}`, USAGE);
  }
  return ({ deployed }) => {
    const differs = deployed && differencesFrom(deployed, deployment).some(({ key }) => key === planKey(entity));
    if (deployed && !differs) return;
    const what = `The plan of ${entity} in ${file} is not the one that is deployed, so whether that depends on the date is not known.`;
    throw new CommandError(`${what} Deploy it first, or name the deployed file with --configuration.`, USAGE);
  };
}
