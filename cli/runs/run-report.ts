import type { DescribeExecutionCommandOutput } from '@aws-sdk/client-sfn';
import * as z from 'zod';
import type { Entity } from '../../core/config/entities.ts';
import { jsonOrUndefined } from '../../core/json.ts';
import { type RunState, runStateSchema } from '../../core/step/states.ts';
import type { Waiting } from './waiting.ts';

/** One run as `--json` prints it. `status` is Step Functions' own word; what a run did not come to is null. */
export interface RunReport {
  entity: Entity;
  executionArn: string;
  status: string;
  error: string | null;
  cause: string | null;
  exportId: string | null;
  key: string | null;
  manifestKey: string | null;
  bytes: number | null;
  rows: number | null;
  /** How many warnings the manifest holds; `show` prints them. */
  warningCount: number | null;
  checks: number;
  seconds: number;
}

/** Where a run is right now. */
export interface Progress {
  entity: Entity;
  /** The state that was entered last. */
  state: string;
  status: string;
  checks: number;
  /** Stored so far; `null` where there is nothing yet, or it cannot be seen. */
  bytes: number | null;
  /** Size of the file; `null` as long as it is not known. */
  totalBytes: number | null;
  waiting: Waiting | null;
  seconds: number;
}

/** The state of a run as some event of its history shows it, or `undefined` before the first step has it. */
export function parseState(text: string | undefined): RunState | undefined {
  const state = runStateSchema.safeParse(jsonOrUndefined(text));
  return state.success ? state.data : undefined;
}

/** What came of an execution. `last` is the state of the run as it was seen last, for executions without an output. */
export function reportOf(
  entity: Entity,
  execution: DescribeExecutionCommandOutput,
  last: RunState | undefined,
): RunReport {
  const state = execution.status === 'SUCCEEDED' ? (parseState(execution.output) ?? last) : last;
  return {
    entity,
    executionArn: z.string().parse(execution.executionArn),
    status: execution.status ?? 'RUNNING',
    error: execution.error ?? null,
    cause: execution.cause ?? null,
    exportId: state?.run?.exportId ?? null,
    key: state?.file?.key ?? null,
    manifestKey: state?.manifestKey ?? null,
    bytes: state?.file?.bytes ?? null,
    rows: state?.rows ?? null,
    warningCount: state?.warningCount ?? null,
    checks: state?.checks ?? 0,
    seconds: secondsBetween(execution.startDate, execution.stopDate ?? new Date()),
  };
}

export function secondsBetween(start: Date | undefined, end: Date): number {
  return start ? Math.max(0, Math.round((end.getTime() - start.getTime()) / 100) / 10) : 0;
}
