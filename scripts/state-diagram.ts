import type { Definition, State } from './template.ts';

interface Arrow {
  from: string;
  to: string;
  label?: string;
  /** The arrow is not an outcome of the step but a crash, or an answer without a branch. */
  exceptional?: boolean;
}

const ANY_STEP = 'AnyStep';

/**
 * The machine as a Mermaid state diagram. Choices become labelled arrows; arrows common to all steps are drawn once.
 */
export function stateDiagram(definition: Definition): string {
  const arrows = storyOrder(definition).flatMap((id) => arrowsFrom(id, definition));
  const [exceptional, own] = [true, false].map((wanted) =>
    arrows.filter((arrow) => Boolean(arrow.exceptional) === wanted),
  ) as [Arrow[], Arrow[]];
  const common = new Set(exceptional.map((arrow) => lineOf({ ...arrow, from: ANY_STEP })));
  const lines = [
    `[*] --> ${definition.StartAt}`,
    ...own.map(lineOf),
    ...childrenOf(definition),
    ...(common.size > 0 ? [`state "any step" as ${ANY_STEP}`] : []),
    ...common,
  ];
  return ['```mermaid', 'stateDiagram-v2', ...lines.map((line) => `  ${line}`), '```'].join('\n');
}

/** The machine of a Map's children, as a nested state. */
function childrenOf({ States }: Definition): string[] {
  return Object.entries(States).flatMap(([id, { ItemProcessor: child }]) => {
    if (!child) return [];
    const arrows = storyOrder(child).flatMap((inner) => arrowsFrom(inner, child));
    const lines = [`[*] --> ${child.StartAt}`, ...arrows.map(lineOf)];
    return [`state ${id} {`, ...lines.map((line) => `  ${line}`), '}'];
  });
}

function arrowsFrom(id: string, { States }: Definition): Arrow[] {
  const state = stateOf(id, States);
  if (state.Type === 'Succeed') return [{ from: id, to: '[*]' }];
  if (state.Type === 'Fail') return [];
  const next = stateOf(state.Next ?? '', States);
  const forward = next.Type === 'Choice' ? branches(id, next) : [{ from: id, to: state.Next ?? '' }];
  // A Map continues with the same state when it could not run.
  const caught = (state.Catch ?? []).filter(({ Next }) => Next !== state.Next);
  return [...forward, ...caught.map(({ Next }) => crash(id, Next))];
}

function branches(from: string, choice: State): Arrow[] {
  const named = (choice.Choices ?? []).map(({ Variable, StringEquals, Next }) => ({
    from,
    to: Next,
    label: StringEquals ?? Variable.replace(/^.*\./, ''),
  }));
  if (!choice.Default) return named;
  // A choice after a step has a branch for every outcome.
  const answers = (choice.Choices ?? []).every(({ StringEquals }) => StringEquals !== undefined);
  if (!answers) return [{ from, to: choice.Default }, ...named];
  return [...named, { from, to: choice.Default, label: 'any other answer', exceptional: true }];
}

function crash(from: string, to: string): Arrow {
  return { from, to, label: 'its function stopped without an answer', exceptional: true };
}

function lineOf({ from, to, label }: Arrow): string {
  return `${from} --> ${to}${label ? `: ${label}` : ''}`;
}

/** All states except the choices, in the order in which a run first reaches them. */
function storyOrder(definition: Definition): string[] {
  const order = [definition.StartAt];
  for (const id of order) {
    for (const { to } of arrowsFrom(id, definition)) if (to !== '[*]' && !order.includes(to)) order.push(to);
  }
  return order;
}

function stateOf(id: string, states: Definition['States']): State {
  const state = states[id];
  if (!state) throw new Error(`the definition has no state "${id}"`);
  return state;
}

/** The part of a machine from a step on. */
export function behindStep(definition: Definition, id: string): Definition {
  return { ...definition, StartAt: id };
}
