import type { CrmClient } from '../../core/crm/client.ts';
import { isOutage, mayBecomeKnown, readStatus, type StatusAnswer } from '../../core/crm/exports.ts';
import { RunError } from '../../core/errors.ts';
import { type Answer, waitAfter, waitFor } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { type RunState, runOf } from '../../core/step/states.ts';

export interface CheckStatusDeps extends Invocation {
  crm: CrmClient;
}

/** One of several servers may not know a new export yet. */
const GRACE_SECONDS = 60;

/** Reads the status of the export once. Answers READY when it is processed, else PENDING until the deadline. */
export async function checkStatus(state: RunState, deps: CheckStatusDeps): Promise<Answer<'CheckStatus'>> {
  const run = runOf(state);
  const answer = await statusOf(state, deps).catch((error: unknown) => afterOutage(error, state, deps));
  if ('outcome' in answer) return answer;
  const { status, retryAfterSeconds } = answer;
  const checks = state.checks + 1;
  if (status === 'PROCESSED') return { outcome: 'READY', checks };
  if (status === 'FAILED') {
    throw new RunError('ExportFailed', `The CRM reports that export ${run.exportId} of ${run.entity} failed.`);
  }
  // A Retry-After of days must not replace the remaining looks.
  const wait = waitFor(state, deps, retryAfterSeconds && Math.min(retryAfterSeconds, run.largestWaitSeconds));
  if (wait) return { outcome: 'PENDING', checks, ...wait };
  throw new RunError(
    'ExportDeadlineExceeded',
    `Export ${run.exportId} of ${run.entity} was still ${status} at the deadline of the run, ${run.deadline}, after ${checks} looks.`,
  );
}

async function statusOf(state: RunState, { crm, now }: CheckStatusDeps): Promise<StatusAnswer> {
  const run = runOf(state);
  try {
    return await readStatus(crm, run.entity, run.exportId);
  } catch (error) {
    const fresh = now().getTime() - Date.parse(run.createdAt) < GRACE_SECONDS * 1000;
    // Since DownloadFile was first refused the file, if it was.
    const since = state.moving?.unknownSince;
    const mayCome = fresh || (since && mayBecomeKnown(since, now()));
    if (error instanceof RunError && error.name === 'ExportNotFound' && mayCome) return { status: 'INITIATED' };
    throw error;
  }
}

/** An outage interrupts the refusals of the file: their time is counted from here. */
function afterOutage(error: unknown, state: RunState, deps: CheckStatusDeps): Answer<'CheckStatus'> {
  const { moving } = state;
  if (!moving?.unknownSince || !isOutage(error) || !error.transient) throw error;
  const wait = waitAfter(error, state, deps);
  if (!wait) throw error;
  return { outcome: 'PENDING', moving: { ...moving, unknownSince: deps.now().toISOString() }, ...wait };
}
