import { randomBytes } from 'node:crypto';
import type { Entity } from '../../core/config/entities.ts';
import { CommandError, ENVIRONMENT } from '../support/exit.ts';
import { isSettled, type Target } from '../support/target.ts';
import type { CheckedUpdates } from '../updates/check-updates.ts';
import { ALL_CHECKS } from './all-checks.ts';
import { nameCalls } from './base/calls.ts';
import { type Check, type Checked, checked, missingRight } from './base/check.ts';
import { readStack } from './base/deployed-stack.ts';
import type { Pace } from './base/pace.ts';
import { createRuns } from './base/runs.ts';
import { removeTemporary } from './base/temporary.ts';
import type { Verifying } from './base/verifying.ts';
import { type Lock, takeLock } from './lock.ts';

export interface VerifyOptions {
  entity: Entity;
  alarm?: boolean;
  updates?: CheckedUpdates | undefined;
  signal: AbortSignal;
  /** Sees each check, in order. */
  onChecked?: (one: Checked) => void;
  /** Default: all. */
  checks?: Check[];
  pace?: Pace;
}

export interface Verified {
  checks: Checked[];
  /** Names of the runs that were made. */
  runs: string[];
}

/** Ten minutes, where the CRM makes the export at once. */
const PACE: Pace = { everyMs: 5000, patienceMs: 300_000, runMs: 900_000 };
const CALLED = ['cloudformation', 'sfn', 's3', 'dynamo', 'logs', 'events', 'sns', 'lambda'] as const;
const CALLED_HERE = ['cloudwatch', 'sqs', 'kms', 'xray'] as const;

/**
 * Makes every check of a deployment, several at a time. What it makes besides runs is gone at its end, however it ends; what a
 * killed one has left, at its beginning.
 * @throws CommandError where nothing can be checked: the stack is being changed (3), or another verify is under way (2);
 *   the signal's reason
 */
export async function verify(target: Target, options: VerifyOptions): Promise<Verified> {
  refuseHalfUpdated(target);
  nameCalls(target, [...CALLED, ...CALLED_HERE]);
  const stack = await readStack(target);
  const id = `${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(3).toString('hex')}`;
  const { lock, readOnly } = await lockOrReason(target, id);
  const signal = AbortSignal.any([options.signal, ...(lock ? [lock.lost] : [])]);
  const { entity, alarm = false, updates, pace = PACE } = options;
  const runs = createRuns({ target, entity, pace, signal, id });
  const verifying: Verifying = { target, stack, runs, entity, id, alarm, updates, readOnly, pace, signal };
  try {
    const before = lock ? await removeTemporary(target) : undefined;
    const checks = await allOf(options, verifying);
    signal.throwIfAborted();
    if (lock) checks.push(reported(await leftOvers(target, before?.removed ?? []), options));
    return { checks, runs: runs.names };
  } finally {
    // Each check removes what it made; a call that was cut short may have made something nevertheless.
    if (lock && signal.aborted) await removeTemporary(target);
    // It expires by itself.
    await lock?.release().catch(() => undefined);
  }
}

/** @throws CommandError (exit code 3) */
function refuseHalfUpdated({ stack, stackStatus }: Target): void {
  if (isSettled(stackStatus)) return;
  const advice = /IN_PROGRESS$/.test(stackStatus) ? 'wait until it has ended' : 'deploy it again';
  throw new CommandError(
    `The stack ${stack} is only half updated (${stackStatus}): ${advice}. Nothing was made.`,
    ENVIRONMENT,
  );
}

/** Whoever may not write to the ledger may still look. */
async function lockOrReason(target: Target, id: string): Promise<{ lock?: Lock; readOnly?: string | undefined }> {
  try {
    return { lock: await takeLock(target, id) };
  } catch (error) {
    const right = missingRight(error);
    if (!right) throw error;
    return { readOnly: `these credentials lack the right ${right}, by which one verify at a time makes something` };
  }
}

async function allOf({ checks = ALL_CHECKS, ...options }: VerifyOptions, verifying: Verifying): Promise<Checked[]> {
  const made = checks.map((check) => checked(check, verifying));
  const results: Checked[] = [];
  for (const one of made) results.push(reported(await one, verifying.signal.aborted ? {} : options));
  return results;
}

function reported(one: Checked, { onChecked }: Pick<VerifyOptions, 'onChecked'>): Checked {
  onChecked?.(one);
  return one;
}

/** Looks once more for everything temporary. */
async function leftOvers(target: Target, ofAnother: string[]): Promise<Checked> {
  const check = { id: 'left-overs', does: 'looks for anything temporary that is still there' };
  const { removed, errors } = await removeTemporary(target);
  const earlier = ofAnother.length > 0 ? `; removed of an earlier verify: ${ofAnother.join(', ')}` : '';
  const rights = errors.flatMap((error) => missingRight(error) ?? []);
  if (rights.length < errors.length || rights.some((right) => !/:(List|Describe)/.test(right))) {
    const why = `Remove by hand what has _verify_ in its name${rights.length > 0 ? `; lacking: ${rights.join(', ')}` : ''}.`;
    return { ...check, ok: false, found: `not all could be removed${earlier}`, why };
  }
  if (rights.length > 0) {
    return { ...check, ok: null, found: null, why: `these credentials lack the right ${rights.join(', ')}${earlier}` };
  }
  const found = removed.length > 0 ? `removed only now: ${removed.join(', ')}` : 'nothing temporary is left';
  return { ...check, ok: true, found: `${found}${earlier}`, why: null };
}
