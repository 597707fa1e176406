import type { CrmClient } from '../shared/crm/client.ts';
import { readStatus, type StatusAnswer } from '../shared/crm/exports.ts';
import { RunError } from '../shared/errors.ts';
import { runOf } from '../shared/run-of.ts';
import type { Run, RunState } from '../shared/states.ts';
import { type Answer, type StepDeps, waitFor } from '../shared/step.ts';

export interface CheckStatusDeps extends StepDeps {
  crm: CrmClient;
}

/** A service with several servers may not know an export for a moment after it made it. */
const GRACE_SECONDS = 60;

/**
 * Reads the status of the export once. Answers READY when it is processed, PENDING with the next wait while it is not;
 * gives up at the run's deadline, after one last look.
 */
export async function checkStatus(state: RunState, deps: CheckStatusDeps): Promise<Answer<'CheckStatus'>> {
  const run = runOf(state);
  const { status, retryAfterSeconds } = await statusOf(run, deps);
  const checks = state.checks + 1;
  if (status === 'PROCESSED') return { outcome: 'READY', checks };
  if (status === 'FAILED') {
    throw new RunError('ExportFailed', `The service reports that export ${run.exportId} of ${run.entity} failed.`);
  }
  const wait = waitFor(state, deps, retryAfterSeconds);
  if (wait) return { outcome: 'PENDING', checks, ...wait };
  throw new RunError(
    'ExportDeadlineExceeded',
    `Export ${run.exportId} of ${run.entity} was still ${status} at the deadline of the run, ${run.deadline}, after ${checks} looks.`,
  );
}

async function statusOf(run: Run, { crm, now }: CheckStatusDeps): Promise<StatusAnswer> {
  try {
    return await readStatus(crm, run.entity, run.exportId);
  } catch (error) {
    const fresh = now().getTime() - Date.parse(run.createdAt) < GRACE_SECONDS * 1000;
    if (error instanceof RunError && error.name === 'ExportNotFound' && fresh) return { status: 'INITIATED' };
    throw error;
  }
}
