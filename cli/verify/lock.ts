import { ConditionalCheckFailedException, DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { expressionValues } from '../../core/oauth/ledger-item.ts';
import { CommandError, USAGE } from '../support/exit.ts';
import type { Target } from '../support/target.ts';

type LockLedger = Pick<Target, 'dynamo' | 'LedgerTableName'>;

/** A killed verify holds up the next one no longer than this. */
const LEASE_MS = 120_000;
const RENEWED_EVERY_MS = 30_000;
const KEY = { pk: { S: 'verify' } };

export interface Lock {
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
