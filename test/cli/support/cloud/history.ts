import { STEPS } from '../../../../core/step/steps.ts';

/** An entered state: its name, time (ISO 8601) and input. */
export type Entered = [name: string, at: string, state: object];

const STEP_NAMES = Object.keys(STEPS);

/** The events that AWS writes for states, including the Choice after each task and the exit of each state. */
export function historyOf(entered: Entered[]) {
  const states = entered.flatMap(([name, at, state], index) => {
    const next = entered[index + 1];
    const choice = next && STEP_NAMES.includes(name) ? [{ name: `After${name}`, at: next[1], state: next[2] }] : [];
    return [{ name, at, state }, ...choice];
  });
  const events = states.flatMap(({ name, at, state }, index) => {
    const next = states[index + 1];
    const left = { name, output: JSON.stringify(next?.state) };
    return [
      { type: `${typeOf(name)}StateEntered`, at, stateEnteredEventDetails: { name, input: JSON.stringify(state) } },
      ...(next ? [{ type: `${typeOf(name)}StateExited`, at: next.at, stateExitedEventDetails: left }] : []),
    ];
  });
  return events.map(({ at, ...event }, index) => ({ ...event, id: index + 1, timestamp: Date.parse(at) / 1000 }));
}

function typeOf(name: string): string {
  if (STEP_NAMES.includes(name)) return 'Task';
  if (name.startsWith('After')) return 'Choice';
  if (name.startsWith('Wait')) return 'Wait';
  return { BeginRun: 'Pass', ExportPublished: 'Succeed' }[name] ?? 'Fail';
}
