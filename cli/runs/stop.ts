import { DescribeExecutionCommand, StopExecutionCommand } from '@aws-sdk/client-sfn';
import type { RunState } from '../../core/step/states.ts';
import { RECORDER } from '../../core/step/steps.ts';
import { askHere } from '../support/confirm.ts';
import { CommandError, RUN_FAILED, usageError } from '../support/exit.ts';
import { printErr, printOut } from '../support/print.ts';
import { connect, type Target, type TargetOptions } from '../support/target.ts';
import { durationText } from '../support/text.ts';
import { lastEnteredState } from './executions.ts';
import { findRun } from './find-run.ts';
import { type Execution, secondsBetween } from './run.ts';

interface StopOptions extends TargetOptions {
  date?: string;
  yes?: boolean;
}

/**
 * `stop`: prints what a run in progress will leave, asks for a confirmation and stops the run.
 * @throws CommandError: 1 if the run ends before the command stops it, 2 if it had ended before the command or the
 * answer is no
 */
export async function stop(run: string, options: StopOptions): Promise<void> {
  const target = await connect(options);
  const found = await findRun(target, run, options.date);
  if (found.status !== 'RUNNING') throw usageError(`${endText(found)}, so there is nothing to stop.`);
  const entered = await lastEnteredState(target.sfn, found.executionArn);
  for (const line of consequences(found, entered.name, entered.state)) printErr(line);
  if (!options.yes)
    await askHere(`Stop ${found.name} of the deployment ${options.deployment}?`, 'nothing was stopped.');
  await stopRun(target, found);
  printOut(`${found.name}: stopped.`);
}

/** States that a run enters once its file is published. */
const AFTER_PUBLICATION = /^(Write|WaitBefore)(Table|Changes)$/;

function consequences(found: Execution, state: string, last: RunState | undefined): string[] {
  const { name, startDate, input } = found;
  const exportId = last?.run?.exportId;
  return [
    `${name} (${input.entity ?? 'unknown entity'}) has been running for ${durationText(secondsBetween(startDate, new Date()))} and is at ${state || 'its start'}.`,
    exportId
      ? `Export ${exportId} stays at the CRM, which cannot cancel it, until it expires. Only a retry of this run downloads it.`
      : 'If the CRM is already making an export, it stays there until it expires. No run downloads it.',
    ...storedText(state),
  ];
}

function storedText(state: string): string[] {
  if (state === 'PublishFile') return ['PublishFile is running and is not interrupted: it may still publish the file.'];
  const step = 'A function that is running completes its step. No further step starts.';
  if (state === RECORDER) return [step];
  if (AFTER_PUBLICATION.test(state)) return ['The file stays published.', step];
  const removed = 'uploaded parts are removed after 2 days, and a complete file when its retention ends.';
  return [`The objects that the run stored are not published: ${removed}`, step];
}

/** @throws CommandError (exit code 1) if the run had already ended */
async function stopRun({ sfn }: Pick<Target, 'sfn'>, { name, executionArn }: Execution): Promise<void> {
  const cause = 'An operator stopped the run with the command stop.';
  const stopped = sfn.send(new StopExecutionCommand({ executionArn, error: 'StoppedByOperator', cause }));
  await stopped.catch((error: unknown) => {
    // The execution ended in the meantime. Its status is read below.
    if (!(error instanceof Error && error.name === 'ValidationException')) throw error;
  });
  const { status = 'RUNNING', stopDate } = await sfn.send(new DescribeExecutionCommand({ executionArn }));
  if (status === 'ABORTED' || status === 'RUNNING') return;
  throw new CommandError(`${endText({ name, status, stopDate })}, before it could be stopped.`, RUN_FAILED);
}

function endText({ name, status, stopDate }: Pick<Execution, 'name' | 'status' | 'stopDate'>): string {
  return `${name} has ended (${status}${stopDate ? `, ${stopDate.toISOString()}` : ''})`;
}
