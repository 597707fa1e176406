import { CommandError, USAGE } from './exit.ts';

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
