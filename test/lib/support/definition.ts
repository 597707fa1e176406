import { synthesise } from '../../../scripts/synthesise.ts';
import { type Definition, definitionOf, type State } from '../../../scripts/template.ts';

export type { Definition, Retrier, State } from '../../../scripts/template.ts';

export function exportRun(): Definition {
  return definitionOf(synthesise());
}

/** @throws when the state does not exist */
export function stateOf(definition: Definition, id: string): State {
  const state = definition.States[id];
  if (!state) throw new Error(`the definition has no state "${id}"`);
  return state;
}

export function successors(state: State): string[] {
  const targets = [state.Next, state.Default, ...(state.Choices ?? []), ...(state.Catch ?? [])];
  return targets.flatMap((target) => (typeof target === 'object' ? [target.Next] : target ? [target] : []));
}

/** Ids of the states reachable from the given ones, inclusive; `passing` selects the states to pass through. */
export function reachable(definition: Definition, from: string[], passing: (id: string) => boolean = () => true) {
  const seen = new Set(from);
  for (const id of seen) {
    if (!passing(id)) continue;
    for (const next of successors(stateOf(definition, id))) seen.add(next);
  }
  return seen;
}

/** Every JSON path that the definition reads or writes, including those in intrinsic functions. */
export function pathsIn(value: unknown, key = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((part) => pathsIn(part, key));
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, part]) => pathsIn(part, name));
  const isPath = typeof value === 'string' && (/(\.\$|Path)$/.test(key) || key === 'Variable');
  if (!isPath) return [];
  return value.startsWith('States.') ? (value.replace(/'[^']*'/g, '').match(/\$[\w.$]*/g) ?? []) : [value];
}
