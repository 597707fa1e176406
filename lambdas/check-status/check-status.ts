import type { CrmClient } from '../../core/crm/client.ts';
import { isOutage, mayBecomeKnown, readStatus, type StatusAnswer } from '../../core/crm/exports.ts';
import { RunError } from '../../core/errors.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { type Answer, waitAfter, waitFor } from '../../core/step/outcome.ts';
import { type RunState, runOf } from '../../core/step/states.ts';

export interface CheckStatusDeps extends Invocation {
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
  const answer = await statusOf(state, deps).catch((error: unknown) => afterOutage(error, state, deps));
  if ('outcome' in answer) return answer;
  const { status, retryAfterSeconds } = answer;
  const checks = state.checks + 1;
  if (status === 'PROCESSED') return { outcome: 'READY', checks };
  if (status === 'FAILED') {
    throw new RunError('ExportFailed', `The service reports that export ${run.exportId} of ${run.entity} failed.`);
  }
  // A pending answer only paces: one that asks for days must not take away the looks that the run has left.
  const asked = retryAfterSeconds && Math.min(retryAfterSeconds, run.largestWaitSeconds);
  const wait = waitFor(state, deps, asked);
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
    // Where the file was asked for in vain, this is a part of the same row.
    const since = state.moving?.unknownSince ?? null;
    const waitedFor = fresh || (since !== null && mayBecomeKnown(since, now()));
    if (error instanceof RunError && error.name === 'ExportNotFound' && waitedFor) return { status: 'INITIATED' };
    throw error;
  }
}

/** Where the file was asked for in vain, the row of refusals does not go on across an outage: it counts from here at most. */
function afterOutage(error: unknown, state: RunState, deps: CheckStatusDeps): Answer<'CheckStatus'> {
  const { moving } = state;
  if (!moving?.unknownSince || !isOutage(error) || !error.transient) throw error;
  const wait = waitAfter(error, state, deps);
  if (!wait) throw error;
  return { outcome: 'PENDING', moving: { ...moving, unknownSince: deps.now().toISOString() }, ...wait };
}
