import { commandFor, quoted } from '../support/command-options.ts';
import { warnUnsettled } from '../support/deployed-configuration.ts';
import { usageError } from '../support/exit.ts';
import { printErr } from '../support/print.ts';
import { connect, type Target } from '../support/target.ts';
import { printableLine } from '../support/text.ts';
import { type EnteredState, lastEnteredState } from './executions.ts';
import { findRunOfEntity } from './find-run.ts';
import type { FollowCommandOptions } from './follow.ts';
import { type Execution, hasNoExport, outcomeText, type RunInput, readInput, runOf } from './run.ts';
import { afterStart, dateOf, refuseDate, startNamed } from './start-run.ts';

interface RetryOptions extends FollowCommandOptions {
  date?: string;
  force?: boolean;
  fresh?: boolean;
  wait?: boolean;
}

/**
 * `retry`: starts a run with the input and date of an earlier run, whether that run failed or not.
 * @throws CommandError (exit code 2) if the earlier run is under way, or requested no export
 */
export async function retry(run: string, options: RetryOptions): Promise<void> {
  const target = await connect(options);
  const { entity, found } = await findRunOfEntity(target, run, options.date, 'to repeat');
  if (found.status === 'RUNNING' && !options.force) {
    const stop = commandFor(`stop ${quoted(found.name)}`, options);
    throw usageError(`${found.name} is under way: stop it first (${stop}), or add --force.`);
  }
  const earlier = runOf(found);
  if (hasNoExport(earlier)) {
    const start = commandFor(`start ${entity}`, options);
    const why = `${found.name} requested no export (${outcomeText(earlier)})`;
    throw usageError(`${why}, so there is nothing to repeat. To export the current records: ${start}.`);
  }
  const input = await inputAgain(target, found, options.fresh);
  const again = readInput(input);
  const today = commandFor(`start ${entity}`, options);
  refuseDate(target, again, `\nTo export the current records: ${today}`);
  warnUnsettled(target);
  const started = await startNamed(target, entity, input, options);
  const adopting =
    again.adopt === undefined ? '' : ` It adopts the export of ${printableLine(again.adopt)}, if the CRM still has it.`;
  printErr(`${started.name} repeats ${found.name}${subjectOf(again)}.${adopting}`);
  await afterStart(target, [started], options);
}

function subjectOf({ what, of = '', date, scheduledFor }: RunInput): string {
  if (what === 'table') return `: it only writes the table of ${printableLine(of)}`;
  if (what === 'release') return `: it releases the file of ${printableLine(of)}`;
  return ` for ${date ?? `the date of ${scheduledFor?.slice(0, 16).replace('T', ', ')} UTC`}`;
}

/**
 * The input of the old run with its date: without it, the new run would take the current date. The new run
 * adopts the export of the old run, unless `fresh` or the error of that run requires a new export. If only the table is
 * missing, the new run writes only the table.
 */
export async function inputAgain({ sfn, TimeZone }: Target, execution: Execution, fresh = false): Promise<object> {
  const { name, executionArn, startDate, error, input } = execution;
  // The file is published, so only the table is missing.
  if (error === 'TableNotWritten' && !fresh) return { table: { run: input.of ?? name } };
  // A release or a table run has the date of the run that it handles.
  if (input.what !== 'export') return input.json;
  const { scheduledFor: _, adopt: __, ...json } = input.json;
  const last = await lastEnteredState(sfn, executionArn);
  const adopt = fresh ? undefined : adoptableRun(execution, last, input.adopt);
  const { run, date: early } = last.state ?? {};
  const scheduledFor = input.scheduledFor ?? startDate.toISOString();
  const date = input.date ?? run?.date ?? early ?? dateOf(TimeZone, scheduledFor);
  // With `scheduledFor`, the new run would count as a nightly start, and end because the old run has the same start.
  return { ...json, date, ...(adopt !== undefined && { adopt }) };
}

/** Errors after which the same export would fail in the same way. */
const FRESH_AFTER = new Set(['ExportFailed', 'ExportNotFound', 'FileRejected', 'FileQuarantined', 'DownloadTooLarge']);

/** States in which a run may have requested an export, even if it never received the answer. */
const IN_FLIGHT = ['CreateExport', 'StepCrashed'];

/** The last entered state, and the newest state data. */
export type LastState = Pick<EnteredState, 'name' | 'state'>;

/**
 * The run whose export a retry adopts: the failed run, or the earlier run whose export that run should have adopted.
 * `undefined`: a new export is requested.
 */
export function adoptableRun(
  { name, status, error }: Pick<Execution, 'name' | 'status' | 'error'>,
  { name: lastState, state }: LastState,
  earlier?: string,
): string | undefined {
  const failed = status !== 'RUNNING' && status !== 'SUCCEEDED';
  if (!failed || FRESH_AFTER.has(error ?? '') || !state) return undefined;
  return state.run ? name : (earlier ?? (IN_FLIGHT.includes(lastState) ? name : undefined));
}
