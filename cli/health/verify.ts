import { randomBytes } from 'node:crypto';
import { ConditionalCheckFailedException, DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Command } from 'commander';
import { ENTITIES, type Entity } from '../../core/config/entities.ts';
import { expressionValues } from '../../core/oauth/ledger.ts';
import { entitiesArgument, withExamples } from '../support/command-options.ts';
import { CommandError, ENVIRONMENT, RUN_FAILED, USAGE } from '../support/exit.ts';
import { printErr, printJson, printOut } from '../support/print.ts';
import { connect, isSettled, type Target, type TargetOptions } from '../support/target.ts';
import { untilInterrupted } from '../support/until-interrupted.ts';
import { readStack } from './deployed-stack.ts';
import {
  CannotTell,
  type Check,
  type Checked,
  checked,
  countOf,
  documentOf,
  missingRight,
  nameCalls,
  textOf,
  type Verdict,
} from './health-check.ts';
import { RULES } from './nightly-rules.ts';
import {
  createRuns,
  EXPORT_CHECKS,
  GRANT_CHECK,
  LOG_CHECK,
  METRIC_CHECK,
  type Pace,
  type Verifying,
} from './verify-export.ts';
import { ALARM_CHECK, LEFT_OVERS, RULE_START, removeTemporary } from './verify-starts.ts';
import { STORAGE_CHECKS } from './verify-storage.ts';

interface VerifyCommandOptions extends TargetOptions {
  entity?: Entity;
  alarm?: boolean;
  json?: boolean;
}

/** Registers `verify`; its exit code is 0 only if every check that could be made holds. */
export function addVerify(command: Command): void {
  command
    .option('--entity <name>', `what is exported: ${ENTITIES.join(', ')}; default: leads`, (text) => {
      return entitiesArgument(text)[0];
    })
    .option('--alarm', 'also set an alarm by hand: it mails everybody who hears of alarms')
    .option('--json', 'one JSON document on standard output, all else on standard error')
    .action(verifyAndPrint);
  withExamples(command, {
    'verify --deployment prod': 'after the first deployment, and after an upgrade',
    'verify --deployment prod --entity customers --alarm': 'export customers, and see an alarm arrive',
    'verify --deployment prod --json': 'as a document',
  });
}

async function verifyAndPrint(options: VerifyCommandOptions): Promise<void> {
  const { entity = 'leads', alarm = false, json = false } = options;
  const target = await connect(options);
  printErr(
    `Verifying ${target.stack}: up to ten minutes, longer where the CRM is slow. It exports ${entity} once; one more run fails on purpose, which is mailed.`,
  );
  const words = 'Stopped. What was made for the checks is removed; runs that were started go on to their ends.';
  const verified = await untilInterrupted(words, (signal) => {
    return verify(target, {
      place: options,
      entity,
      alarm,
      signal,
      ...(!json && { onChecked: (one) => printOut(textOf(one, process.stdout)) }),
    });
  });
  print(verified, isProof(verified.checks), json);
}

/** Whether no check is broken and at least one holds: if no check could be made, verify proves nothing. */
export function isProof(checks: Checked[]): boolean {
  return countOf(checks, 'broken') === 0 && countOf(checks, 'holds') > 0;
}

function print({ checks, runs }: Verified, ok: boolean, json: boolean): void {
  const count = (verdict: Verdict) => countOf(checks, verdict);
  const counts = `${count('holds')} held, ${count('warning')} with a warning, ${count('broken')} did not`;
  if (json) printJson(documentOf(checks, ok));
  else printOut(`${counts}, ${count('unknown')} could not be told.`);
  printErr(runs.length > 0 ? `Runs that it made: ${runs.join(', ')}.` : 'It made no run.');
  process.exitCode = ok ? 0 : RUN_FAILED;
}

/** All checks except the last one, `left-overs`, in the order of the output; they run at the same time. */
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
  /** Options for the commands in the advice; by default only the name of the deployment. */
  place?: TargetOptions;
  /** Called with each result, in order. */
  onChecked?: (one: Checked) => void;
  /** Default: all. */
  checks?: Check<Verifying>[];
  pace?: Pace;
}

interface Verified {
  checks: Checked[];
  /** Names of the runs that verify started. */
  runs: string[];
}

/** Verify takes about ten minutes if the CRM makes the export at once. */
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
 * Makes every check of a deployment, several at a time. It first removes the objects that a killed verify left, and in
 * the end its own objects except runs, however it ends.
 * @throws CommandError if no check is possible: the stack is being changed (3), or another verify runs (2); the
 *   reason of the signal
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
    // Each check removes its own objects, but a call that was cut short may have made one that is not recorded.
    if (lock && signal.aborted) await removeTemporary(verifying);
    // If the release fails, the lock expires by itself.
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

/** The lock, or why there is none: credentials that may not write to the ledger can still make the read-only checks. */
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

/** The check; if it needs to make something that verify may not make, it becomes unknown. */
function lookingOnly(check: Check<Verifying>, { readOnly }: Verifying): Check<Verifying> {
  if (!check.makes || readOnly === undefined) return check;
  return { ...check, look: () => Promise.reject(new CannotTell(readOnly)) };
}

function reported(some: Checked[], { onChecked }: Pick<VerifyOptions, 'onChecked'>): Checked[] {
  for (const one of some) onChecked?.(one);
  return some;
}

type LockLedger = Pick<Target, 'dynamo' | 'LedgerTableName'>;

/** A killed verify blocks the next one for this time at most. */
const LEASE_MS = 120_000;
const RENEWED_EVERY_MS = 30_000;
const KEY = { pk: { S: 'verify' } };

interface Lock {
  /** Aborted if another verify has taken the lock: this machine was asleep, or its clock is wrong. */
  lost: AbortSignal;
  release: () => Promise<void>;
}

/**
 * Takes the lock that allows one verify of a deployment at a time: an item of the ledger that expires.
 * @throws CommandError (exit code 2) if another verify holds the lock
 */
export async function takeLock(ledger: LockLedger, owner: string, now: () => number = Date.now): Promise<Lock> {
  const taken = await write(ledger, owner, now(), 'attribute_not_exists(pk) OR deadline < :now OR #owner = :owner');
  if (!taken.ours) throw refused(taken.until);
  const lost = new AbortController();
  const renew = async () => {
    // A renewal that failed for another reason is repeated; the lease lasts for three renewals.
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
