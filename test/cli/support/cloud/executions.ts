import type { Entity } from '../../../../core/config/entities.ts';
import { refused } from './answers.ts';
import { type Entered, historyOf } from './history.ts';
import { arnOf } from './stack.ts';
import type { Part } from './world.ts';

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
