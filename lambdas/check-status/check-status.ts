import type { CrmClient } from '../../core/crm/crm-client.ts';
import { isOutage, mayStillAppear, readStatus } from '../../core/crm/exports.ts';
import { RunError } from '../../core/errors.ts';
import { type Answer, waitAfter, waitFor } from '../../core/step/export-run.ts';
import { type Run, type RunState, runOf } from '../../core/step/states.ts';
import type { Invocation } from '../../core/step/step.ts';

export interface CheckStatusDeps extends Invocation {
  crm: CrmClient;
}

/** How long after its creation a server of the CRM may answer that an export does not exist. */
const GRACE_SECONDS = 60;

/** Reads the status of the export once. Answers READY when it is processed, PENDING until the deadline. */
export async function checkStatus(state: RunState, deps: CheckStatusDeps): Promise<Answer<'CheckStatus'>> {
  const run = runOf(state);
  const reading = readStatus(deps.crm, run.entity, run.exportId);
  const answer = await reading.catch((error: unknown) => afterError(error, state, deps));
  if ('outcome' in answer) return answer;
  const { status, retryAfterSeconds } = answer;
  const checks = state.checks + 1;
  // If the file is refused repeatedly, READY does not end the series of refusals.
  if (status === 'PROCESSED') return { outcome: 'READY', checks, ...(state.moving && { trouble: state.trouble }) };
  if (status === 'FAILED') {
    throw new RunError('ExportFailed', `The CRM reports that export ${run.exportId} of ${run.entity} failed.`);
  }
  // Limited, because a Retry-After of days would prevent the remaining checks.
  const wait = waitFor(state, deps, retryAfterSeconds && Math.min(retryAfterSeconds, run.largestWaitSeconds));
  if (wait) return { outcome: 'PENDING', checks, ...wait };
  throw deadlineExceeded(run, status, checks);
}

/**
 * Waits if the CRM may soon know an export that it does not know yet. Also waits after an outage that interrupts a
 * series of refusals of the file. Otherwise throws the error, such as `CrmUnavailable` for a 503 (core/crm/answers.ts).
 */
function afterError(error: unknown, state: RunState, deps: CheckStatusDeps): Answer<'CheckStatus'> {
  const run = runOf(state);
  const { moving } = state;
  if (!(error instanceof RunError)) throw error;
  if (error.name === 'ExportNotFound' && mayCome(state, deps.now())) {
    const wait = waitAfter(error, state, deps);
    if (wait) return { outcome: 'PENDING', ...wait };
    throw deadlineExceeded(run, 'unknown to the CRM', state.checks);
  }
  // Only an unbroken series of refusals ends the run. An outage breaks the series, so its time starts again here.
  const wait = moving?.unknownSince && isOutage(error) && error.transient && waitAfter(error, state, deps);
  if (!wait) throw error;
  return { outcome: 'PENDING', moving: { ...moving, unknownSince: deps.now().toISOString() }, ...wait };
}

/** Whether the CRM may still list a missing export: the export is new, or its file was refused only recently. */
function mayCome(state: RunState, now: Date): boolean {
  const fresh = now.getTime() - Date.parse(runOf(state).createdAt) < GRACE_SECONDS * 1000;
  // The time at which the CRM first refused the file to DownloadFile.
  const since = state.moving?.unknownSince;
  return fresh || (!!since && mayStillAppear(since, now));
}

function deadlineExceeded({ exportId, entity, deadline }: Run, status: string, checks: number): RunError {
  const what = `Export ${exportId} of ${entity} was still ${status} at the deadline of the run, ${deadline}`;
  return new RunError('ExportDeadlineExceeded', `${what} (status checks: ${checks}).`);
}
