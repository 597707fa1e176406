import { paginateListExecutions } from '@aws-sdk/client-sfn';
import type { Command } from 'commander';
import { ENTITIES } from '../../core/config/entities.ts';
import { suggestion } from '../../core/suggestion.ts';
import { dateArgument } from '../support/command-options.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

/** How many of the newest names are compared with an unknown one. */
const NAMES_COMPARED = 200;

/** Adds the argument of a command that works on one run, and the date that goes with an entity. */
export function withRun(command: Command): Command {
  return command
    .argument('<run>', 'name of an execution, a unique end of it, its ARN, or an entity: its newest run')
    .option('--date <YYYY-MM-DD>', 'with an entity: its newest run for this date', dateArgument);
}

/** The full name of the one run whose name ends so. @throws CommandError (exit code 2) where there is none, or several */
export async function runEnding(
  { sfn: client, StateMachineArn: stateMachineArn }: Pick<Target, 'sfn' | 'StateMachineArn'>,
  end: string,
): Promise<string> {
  const names: string[] = [];
  for await (const { executions = [] } of paginateListExecutions({ client, pageSize: 1000 }, { stateMachineArn })) {
    names.push(...executions.flatMap(({ name }) => name ?? []));
  }
  const found = nameEnding(end, names);
  if (found !== undefined) return found;
  const newest = names.slice(0, 3).join(', ');
  const known = newest === '' ? '; nothing ran here yet' : `; the newest runs are ${newest}`;
  const near = suggestion(end, [...ENTITIES, ...names.slice(0, NAMES_COMPARED)]);
  throw new CommandError(`There is no run "${end}"${near}${known}.`, USAGE);
}

/** Shorter ends would mean a run that nobody meant. */
const SHORTEST_END = 4;
const NAMES_SHOWN = 5;

/** The one name that ends so; `undefined` where none does. @throws CommandError (exit code 2) where several do */
export function nameEnding(end: string, names: string[]): string | undefined {
  const found = end.length < SHORTEST_END ? [] : names.filter((name) => name.endsWith(end));
  if (found.length < 2) return found[0];
  const more = found.length > NAMES_SHOWN ? ` and ${found.length - NAMES_SHOWN} more` : '';
  const some = found.slice(0, NAMES_SHOWN).join(', ');
  throw new CommandError(`${found.length} runs end in "${end}": ${some}${more}; type more of the name.`, USAGE);
}
