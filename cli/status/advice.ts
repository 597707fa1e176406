import { completed } from '../checks/completed.ts';
import type { Cell } from '../night/facts.ts';
import { commandFor, quoted } from '../support/command-options.ts';
import type { TargetOptions } from '../support/target.ts';

/**
 * The command to type where the file of a date is missing: one for all entities that it mends at once.
 * @param night what became of all entities
 */
export function adviceOf({ date, outcome, attempts }: Cell, night: Cell[], place: TargetOptions): string {
  if (outcome === 'withoutRule') return completed('npx cdk deploy --revert-drift', place);
  const run = attempts.at(-1)?.run;
  // It says why, names the entry of the runbook, and the command that makes up for it.
  if (run !== undefined) return commandFor(`show ${quoted(run)}`, place);
  const alike = night.filter((cell) => cell.outcome === outcome && cell.date === date && cell.attempts.length === 0);
  const entities = alike.map(({ entity }) => entity).join(' ');
  return commandFor(outcome === 'paused' ? `resume ${entities}` : `start ${entities} --date ${date}`, place);
}
