import type { Definition, State } from './template.ts';

const ANY_STEP = 'AnyStep';

/**
 * The machine as a Mermaid state diagram, from a step on. Choices become labelled arrows; arrows common to all steps are
 * drawn once: crashes, and answers without a branch.
 */
export function stateDiagram(definition: Definition, from = definition.StartAt): string {
  const common = new Set<string>();
  const lines = linesOf({ ...definition, StartAt: from }, (_, to, label) => common.add(arrow(ANY_STEP, to, label)));
  for (const [id, { ItemProcessor: child }] of Object.entries(definition.States)) {
    if (!child) continue;
    const inner = linesOf(child);
    lines.push(`state ${id} {`, ...inner.map((line) => `  ${line}`), '}');
  }
  if (common.size > 0) lines.push(`state "any step" as ${ANY_STEP}`, ...common);
  return ['```mermaid', 'stateDiagram-v2', ...lines.map((line) => `  ${line}`), '```'].join('\n');
}

type Draw = (from: string, to: string, label?: string) => unknown;

const arrow = (from: string, to: string, label?: string) => `${from} --> ${to}${label ? `: ${label}` : ''}`;

/** The arrows of all states except the choices, in the order in which a run first reaches the states. */
function linesOf({ StartAt, States }: Definition, drawExceptional?: Draw): string[] {
  const order = [StartAt];
  const lines = [arrow('[*]', StartAt)];
  const reaching =
    (draw: Draw): Draw =>
    (from, to, label) => {
      draw(from, to, label);
      if (to !== '[*]' && !order.includes(to)) order.push(to);
    };
  const own: Draw = (...ends) => lines.push(arrow(...ends));
  const [draw, drawOther] = [reaching(own), reaching(drawExceptional ?? own)];
  for (const id of order) {
    const { Type, Next = '', Catch = [] } = stateOf(id, States);
    if (Type === 'Succeed') draw(id, '[*]');
    if (Type === 'Succeed' || Type === 'Fail') continue;
    const next = stateOf(Next, States);
    if (next.Type === 'Choice') drawBranches(id, next, draw, drawOther);
    else draw(id, Next);
    // A Map that could not run continues with the same state as a Map that ended.
    for (const caught of Catch) {
      if (caught.Next !== Next) drawOther(id, caught.Next, 'its function stopped without an answer');
    }
  }
  return lines;
}

function drawBranches(from: string, { Choices = [], Default }: State, draw: Draw, drawOther: Draw): void {
  // A choice after a step has a branch for every outcome.
  const answers = Choices.every(({ StringEquals }) => StringEquals !== undefined);
  if (Default && !answers) draw(from, Default);
  for (const { Variable, StringEquals, Next } of Choices)
    draw(from, Next, StringEquals ?? Variable.replace(/^.*\./, ''));
  if (Default && answers) drawOther(from, Default, 'any other answer');
}

function stateOf(id: string, states: Definition['States']): State {
  const state = states[id];
  if (!state) throw new Error(`the definition has no state "${id}"`);
  return state;
}
