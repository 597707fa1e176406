import { randomBytes } from 'node:crypto';
import { ConditionalCheckFailedException, DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Entity } from '../../core/config/entities.ts';
import { expressionValues } from '../../core/oauth/ledger.ts';
import { nameCalls } from '../checks/calls.ts';
import { type Check, type Checked, checked } from '../checks/check.ts';
import { readStack } from '../checks/deployed-stack.ts';
import { CannotTell } from '../checks/finding.ts';
import { missingRight } from '../checks/finding-of.ts';
import { RULES } from '../checks/rules.ts';
import { CommandError, ENVIRONMENT, USAGE } from '../support/exit.ts';
import { isSettled, type Target, type TargetOptions } from '../support/target.ts';
import { ALARM_CHECK } from './alarm-check.ts';
import { EXPORT_CHECKS, GRANT_CHECK } from './export-checks.ts';
import { LOG_CHECK } from './log-check.ts';
import { METRIC_CHECK } from './metric-check.ts';
import { RULE_START } from './rule-start.ts';
import { createRuns, type Pace } from './runs.ts';
import { STORAGE_CHECKS } from './storage-checks.ts';
import { LEFT_OVERS, removeTemporary } from './temporary.ts';
import type { Verifying } from './verifying.ts';

/** All checks but the last, `left-overs`, in the order in which they are shown; they are made at the same time. */
export const ALL_CHECKS: Check<Verifying>[] = [
  ...EXPORT_CHECKS,
  LOG_CHECK,
  ...STORAGE_CHECKS,
  METRIC_CHECK,
  ALARM_CHECK,
  RULES,
  RULE_START,
  GRANT_CHECK,
];

export interface VerifyOptions {
  entity: Entity;
  alarm?: boolean;
  signal: AbortSignal;
  /** Options for commands to paste; by default the name of the deployment alone. */
  place?: TargetOptions;
  /** Sees each check, in order. */
  onChecked?: (one: Checked) => void;
  /** Default: all. */
  checks?: Check<Verifying>[];
  pace?: Pace;
}

export interface Verified {
  checks: Checked[];
  /** Names of the runs that were made. */
  runs: string[];
}

/** Ten minutes, where the CRM makes the export at once. */
const PACE: Pace = { everyMs: 5000, patienceMs: 300_000, runMs: 900_000 };
const CALLED = [
  'cloudformation',
  'sfn',
  's3',
  'dynamo',
  'logs',
  'events',
  'sns',
  'cloudwatch',
  'sqs',
  'secrets',
] as const;

/**
 * Makes every check of a deployment, several at a time. What it makes besides runs is gone at its end, however it ends; what a
 * killed one has left, at its beginning.
 * @throws CommandError where nothing can be checked: the stack is being changed (3), or another verify is under way (2);
 *   the signal's reason
 */
export async function verify(target: Target, options: VerifyOptions): Promise<Verified> {
  refuseHalfUpdated(target);
  nameCalls(target, [...CALLED]);
  const stack = await readStack(target);
  const id = `${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}-${randomBytes(3).toString('hex')}`;
  const { lock, readOnly } = await lockOrReason(target, id);
  const signal = AbortSignal.any([options.signal, ...(lock ? [lock.lost] : [])]);
  const { entity, alarm = false, pace = PACE } = options;
  const place = options.place ?? { deployment: target.stack.replace(/^crm-export-/, '') };
  const runs = createRuns({ target, entity, pace, signal, id });
  const verifying: Verifying = { target, place, stack, runs, entity, id, alarm, readOnly, pace, signal };
  try {
    const before = lock ? await removeTemporary(verifying) : undefined;
    const checks = await allOf(options, verifying);
    signal.throwIfAborted();
    if (lock) {
      const left = await checked(LEFT_OVERS, { target, stack, ofAnother: before?.removed ?? [] }, place);
      checks.push(...reported(left, options));
    }
    return { checks, runs: runs.names };
  } finally {
    // Each check removes what it made; a call that was cut short may have made something nevertheless.
    if (lock && signal.aborted) await removeTemporary(verifying);
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
  const made = checks.map((check) => checked(lookingOnly(check, verifying), verifying, verifying.place));
  const results: Checked[] = [];
  for (const one of made) results.push(...reported(await one, verifying.signal.aborted ? {} : options));
  return results;
}

/** The check, which makes nothing where nothing may be made. */
function lookingOnly(check: Check<Verifying>, { readOnly }: Verifying): Check<Verifying> {
  if (!check.makes || readOnly === undefined) return check;
  return { ...check, look: () => Promise.reject(new CannotTell(readOnly)) };
}

function reported(some: Checked[], { onChecked }: Pick<VerifyOptions, 'onChecked'>): Checked[] {
  for (const one of some) onChecked?.(one);
  return some;
}

type LockLedger = Pick<Target, 'dynamo' | 'LedgerTableName'>;

/** A killed verify holds up the next one no longer than this. */
const LEASE_MS = 120_000;
const RENEWED_EVERY_MS = 30_000;
const KEY = { pk: { S: 'verify' } };

interface Lock {
  /** Aborted where another has taken it over: this machine slept, or its clock is wrong. */
  lost: AbortSignal;
  release: () => Promise<void>;
}

/**
 * One verify of a deployment at a time: an item of the ledger, made by a conditional write, which expires.
 * @throws CommandError (exit code 2) where another has it
 */
export async function takeLock(ledger: LockLedger, owner: string, now: () => number = Date.now): Promise<Lock> {
  const taken = await write(ledger, owner, now(), 'attribute_not_exists(pk) OR deadline < :now OR #owner = :owner');
  if (!taken.ours) throw refused(taken.until);
  const lost = new AbortController();
  const renew = async () => {
    // A renewal that fails otherwise is tried again; the lease outlasts three.
    const renewed = await write(ledger, owner, now(), '#owner = :owner').catch(() => undefined);
    if (renewed && !renewed.ours) lost.abort(refused(renewed.until));
  };
  const timer = setInterval(() => void renew(), RENEWED_EVERY_MS);
  timer.unref();
  return {
    lost: lost.signal,
    release: async () => {
      clearInterval(timer);
      await remove(ledger, owner);
    },
  };
}

function refused(until: number): CommandError {
  const free = new Date(until).toISOString().slice(11, 19);
  return new CommandError(
    `Another verify of this deployment is under way: wait for its end (if it was killed, until ${free} UTC). Nothing was made.`,
    USAGE,
  );
}

async function write({ dynamo, LedgerTableName }: LockLedger, owner: string, now: number, condition: string) {
  const deadline = now + LEASE_MS;
  const values = { owner, deadline, ttl: Math.ceil(deadline / 1000), ...(condition.includes(':now') && { now }) };
  const command = new UpdateItemCommand({
    TableName: LedgerTableName,
    Key: KEY,
    ConditionExpression: condition,
    UpdateExpression: 'SET #owner = :owner, deadline = :deadline, #ttl = :ttl',
    ExpressionAttributeNames: { '#owner': 'owner', '#ttl': 'ttl' },
    ExpressionAttributeValues: expressionValues(values),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  try {
    await dynamo.send(command);
    return { ours: true, until: deadline };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    return { ours: false, until: Number(error.Item?.deadline?.N ?? now) };
  }
}

async function remove({ dynamo, LedgerTableName }: LockLedger, owner: string): Promise<void> {
  const command = new DeleteItemCommand({
    TableName: LedgerTableName,
    Key: KEY,
    ConditionExpression: '#owner = :owner',
    ExpressionAttributeNames: { '#owner': 'owner' },
    ExpressionAttributeValues: expressionValues({ owner }),
  });
  await dynamo.send(command).catch((error: unknown) => {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
  });
}
