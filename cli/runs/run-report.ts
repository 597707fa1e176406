import type { DescribeExecutionCommandOutput } from '@aws-sdk/client-sfn';
import type { Entity } from '../../core/config/entities.ts';
import { jsonOrUndefined, parseJson } from '../../core/json.ts';
import { type RunState, runStateSchema } from '../../core/step/states.ts';
import { tableRunOf } from '../../core/table/table-input.ts';
import type { Waiting } from './waiting.ts';
import { type WithoutJob, withoutJobOf } from './without-job.ts';

/** One run as `--json` prints it, with the status of Step Functions; what is not known is null. */
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
  /** Of the manifest. */
  warningCount: number | null;
  checks: number;
  seconds: number;
  /** Of a start by a rule that requested nothing: why. */
  withoutJob: WithoutJob | null;
  /** Of a run that left its file to no reader: the keys of its input that make another plan than the configured. */
  unpublished: string[] | null;
  /** Of a release: the run whose file it published, and whether that is the latest now. */
  released: { run: string; date: string; latest: boolean } | null;
  /** The table that was written; of the run whose file it holds. */
  table: RunState['table'];
  /** Of an execution that only writes a table: the run whose file it is made of. */
  tableOf: string | null;
}

/** Where a run is right now. */
export interface Progress {
  entity: Entity;
  /** Entered last. */
  state: string;
  status: string;
  checks: number;
  /** Stored so far; `null` where it is not known. */
  bytes: number | null;
  totalBytes: number | null;
  waiting: Waiting | null;
  seconds: number;
}

/** The state of a run in an event of its history, or `undefined` before the first step has it. */
export function parseState(text: string | undefined): RunState | undefined {
  return parseJson(runStateSchema, text);
}

/** The result of an execution. `last` is the state seen last, for executions without an output. */
export function reportOf(
  entity: Entity,
  execution: DescribeExecutionCommandOutput & { executionArn: string },
  last: RunState | undefined,
): RunReport {
  const state = execution.status === 'SUCCEEDED' ? (parseState(execution.output) ?? last) : last;
  return {
    entity,
    executionArn: execution.executionArn,
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
    withoutJob: withoutJobOf(execution.output) ?? null,
    ...publicationOf(state),
    ...tableOf(state, execution.input),
  };
}

/** What an execution has to do with a table. */
export function tableOf(state: RunState | undefined, input: string | undefined): Pick<RunReport, 'table' | 'tableOf'> {
  return { table: state?.table ?? null, tableOf: tableRunOf(jsonOrUndefined(input)) ?? null };
}

function publicationOf(state: RunState | undefined): Pick<RunReport, 'unpublished' | 'released'> {
  const unpublished = state?.outcome === 'UNPUBLISHED' ? (state.run?.differs ?? []) : null;
  return { unpublished, released: state?.released ?? null };
}

export function secondsBetween(start: Date | undefined, end: Date): number {
  return start ? Math.max(0, Math.round((end.getTime() - start.getTime()) / 100) / 10) : 0;
}
