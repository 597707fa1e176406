import type { Entity } from '../../../../core/config/entities.ts';
import { STEPS } from '../../../../core/step/steps.ts';
import { refused } from './answers.ts';
import { arnOf } from './stack.ts';
import type { Part } from './world.ts';

/** An entered state: its name, time (ISO 8601) and input. */
type Entered = [name: string, at: string, state: object];

export interface Execution {
  name: string;
  status: string;
  input: object;
  /** ISO 8601. */
  start: string;
  stop?: string;
  error?: string;
  cause?: string;
  output?: string;
  entered?: Entered[];
}

/** A run of leads in the night of 20 November 2026 that ended well, with changes. */
export const execution = (name: string, more: Partial<Execution> = {}): Execution => ({
  ...{ name, status: 'SUCCEEDED', input: { entity: 'leads' } },
  ...{ start: '2026-11-20T01:00:00.000Z', stop: '2026-11-20T01:00:12.000Z', ...more },
});

interface Options {
  /** The result of an execution that a test starts. Without it, a start leaves no record. */
  onStart?: (input: { entity: Entity } & Record<string, unknown>) => Omit<Execution, 'name' | 'input'>;
  /** The page size of listings; default: all. */
  page?: number;
  /** The machine; default: that of the tests' deployment. */
  machine?: string;
}

/** A machine with these past executions, the newest first. */
export function executions(runs: Execution[], { onStart, page = runs.length, machine }: Options = {}): Part {
  const found = (arn: unknown) => runs.find(({ name }) => arnOf(name, machine) === arn);
  return ({ started }) => ({
    ListExecutions: ({ input: { nextToken = 0 } }) => {
      const end = Number(nextToken) + page;
      const listed = runs.slice(Number(nextToken), page ? end : undefined);
      return {
        executions: listed.map((run) => describedBy(run, machine)),
        ...(end < runs.length && { nextToken: String(end) }),
      };
    },
    DescribeExecution: ({ input: { executionArn } }) => {
      const run = found(executionArn);
      if (!run) return refused('ExecutionDoesNotExist');
      return { ...describedBy(run, machine), input: JSON.stringify(run.input), output: run.output };
    },
    GetExecutionHistory: ({ input: { executionArn, reverseOrder } }) => {
      const events = historyOf(found(executionArn)?.entered ?? []);
      return { events: reverseOrder ? events.reverse() : events };
    },
    StartExecution: ({ input: { name, input } }) => {
      const given = JSON.parse(String(input));
      started.push(given);
      if (onStart) runs.push({ name: String(name), input: given, ...onStart(given) });
      return { executionArn: arnOf(String(name), machine), startDate: 0 };
    },
  });
}

function describedBy({ name, status, start, stop, error, cause }: Execution, machine: string | undefined) {
  return {
    executionArn: arnOf(name, machine),
    name,
    status,
    error,
    cause,
    startDate: Date.parse(start) / 1000,
    ...(stop && { stopDate: Date.parse(stop) / 1000 }),
  };
}

const STEP_NAMES = Object.keys(STEPS);

/** The events that AWS writes for states, including the Choice after each task and the exit of each state. */
function historyOf(entered: Entered[]) {
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
