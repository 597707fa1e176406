import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { RunError } from '../errors.ts';
import { accessDenied } from './access-denied.ts';
import { type Attributes, expressionValues, type LedgerItem, parseItem } from './ledger-item.ts';

/** A claim lasts longer than everything its holder does in it: 20 + 10 s of requests, 10 s of storing, 5 s of margin. */
export const LEASE_MS = 45_000;
/** So often may a generation be claimed by those who cannot say what became of it. */
export const ATTEMPTS = 3;
/** Far above any stale read or hung retry. */
const KEPT_DAYS = 30;

/** The right to spend one generation, until its deadline. */
export interface Claim {
  versionId: string;
  owner: string;
  attempt: number;
  deadline: number;
}

export type ClaimAnswer = { won: true; claim: Claim } | { won: false; item: LedgerItem };

/**
 * The spend ledger: one item per generation, arbitrated by one conditional write. Claims end by state or by deadline, and
 * nothing is ever deleted but by time.
 * Every method throws RunError `TokenStoreUnavailable`, or `ConfigInvalid` where a right is missing.
 */
export interface Ledger {
  /** Claims a generation that nobody holds, or whose holder ran out of time. One of any number of callers wins. */
  claim(versionId: string, owner: string, now: number): Promise<ClaimAnswer>;
  /**
   * Claims exactly what was observed: nothing (`undefined`), a dead generation, or one whose holder was watched for a whole
   * lease by the caller's own clock. For `authorize`, which runs on a machine whose clock nobody knows. A claim over a dead
   * generation leaves no attempt to anybody else: its token is spent, even if this holder dies.
   */
  claimObserved(versionId: string, owner: string, now: number, seen: LedgerItem | undefined): Promise<ClaimAnswer>;
  /** Ends a claim under which nothing was spent; the attempt does not count. */
  giveBack(claim: Claim): Promise<void>;
  /** Keeps everybody from claiming until then (milliseconds since the epoch), though its holder has ended. */
  hold(claim: Claim, until: number): Promise<void>;
  markStored(claim: Claim): Promise<void>;
  markDead(claim: Claim, reason: string, now: Date): Promise<void>;
  read(versionId: string): Promise<LedgerItem | undefined>;
}

const ABSENT = 'attribute_not_exists(pk)';
const FREE = 'attribute_not_exists(pk) OR (#state = :claimed AND deadline < :now AND attempt < :most)';
/** What vanished in the meantime (by its age, or by a restore) is nobody's either. */
const OBSERVED = 'attribute_not_exists(pk) OR (#state = :seenState AND #owner = :seenOwner AND attempt = :seenAttempt)';
const OURS = '#state = :claimed AND #owner = :owner AND attempt = :attempt';
const TAKE =
  'SET #state = :claimed, #owner = :owner, deadline = :deadline, attempt = if_not_exists(attempt, :zero) + :one, #ttl = :ttl';
const NAMES = { '#state': 'state', '#owner': 'owner' };

interface Table {
  client: DynamoDBClient;
  TableName: string;
  keyOf: (versionId: string) => Attributes;
}

/** @param scope what the generations belong to: the secret, so that deployments could share a table. */
export function createLedger(client: DynamoDBClient, table: string, scope: string): Ledger {
  const at: Table = { client, TableName: table, keyOf: (versionId) => ({ pk: { S: `${scope}#${versionId}` } }) };
  return {
    claim: (versionId, owner, now) => claimIf(at, FREE, versionId, owner, now, { now, most: ATTEMPTS }),
    claimObserved: (versionId, owner, now, seen) => {
      if (!seen) return claimIf(at, ABSENT, versionId, owner, now, {});
      const observed = { seenState: seen.state, seenOwner: seen.owner, seenAttempt: seen.attempt };
      return claimIf(at, OBSERVED, versionId, owner, now, { ...observed, one: seen.state === 'DEAD' ? ATTEMPTS : 1 });
    },
    giveBack: (claim) => end(at, claim, 'SET deadline = :zero, attempt = :attempt - :one', { zero: 0, one: 1 }),
    hold: (claim, until) => end(at, claim, 'SET deadline = :until', { until }),
    markStored: (claim) => end(at, claim, 'SET #state = :stored', { stored: 'STORED' }),
    markDead: (claim, reason, now) => {
      const death = { dead: 'DEAD', reason, diedAt: now.toISOString() };
      return end(at, claim, 'SET #state = :dead, reason = :reason, diedAt = :diedAt', death);
    },
    read: (versionId) => read(at, versionId),
  };
}

type Values = Record<string, string | number>;

async function claimIf(
  { client, TableName, keyOf }: Table,
  condition: string,
  versionId: string,
  owner: string,
  now: number,
  conditionValues: Values,
): Promise<ClaimAnswer> {
  const deadline = now + LEASE_MS;
  const ttl = Math.floor(now / 1000) + KEPT_DAYS * 86_400;
  const taken = { claimed: 'CLAIMED', owner, deadline, zero: 0, one: 1, ttl };
  const update = new UpdateItemCommand({
    TableName,
    Key: keyOf(versionId),
    ConditionExpression: condition,
    UpdateExpression: TAKE,
    ExpressionAttributeNames: { ...NAMES, '#ttl': 'ttl' },
    ExpressionAttributeValues: expressionValues({ ...taken, ...conditionValues }),
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  try {
    const { attempt } = parseItem((await client.send(update)).Attributes);
    return { won: true, claim: { versionId, owner, deadline, attempt } };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw unavailable(TableName, error);
    const item = parseItem(error.Item);
    // An SDK that repeated a call whose answer was lost meets its own claim.
    const ours = item.state === 'CLAIMED' && item.owner === owner && item.deadline === deadline;
    return ours ? { won: true, claim: { versionId, owner, deadline, attempt: item.attempt } } : { won: false, item };
  }
}

/** Another may hold the claim by now: it says itself what becomes of it, and this changes nothing. */
async function end({ client, TableName, keyOf }: Table, claim: Claim, update: string, more: Values): Promise<void> {
  const { owner, attempt, versionId } = claim;
  const command = new UpdateItemCommand({
    TableName,
    Key: keyOf(versionId),
    ConditionExpression: OURS,
    UpdateExpression: update,
    ExpressionAttributeNames: NAMES,
    ExpressionAttributeValues: expressionValues({ claimed: 'CLAIMED', owner, attempt, ...more }),
  });
  await client.send(command).catch((error: unknown) => {
    if (!(error instanceof ConditionalCheckFailedException)) throw unavailable(TableName, error);
  });
}

async function read({ client, TableName, keyOf }: Table, versionId: string): Promise<LedgerItem | undefined> {
  const get = new GetItemCommand({ TableName, Key: keyOf(versionId), ConsistentRead: true });
  const { Item } = await client.send(get).catch((error: unknown) => {
    throw unavailable(TableName, error);
  });
  return Item && parseItem(Item);
}

/** Trouble with the ledger is never a leave to go on without it. */
function unavailable(table: string, error: unknown): RunError {
  const name = error instanceof Error ? error.name : 'unknown';
  if (name === 'AccessDeniedException') return accessDenied(`The table ${table} may not be used`, error);
  const what = `The ledger of the OAuth grant could not be used (${name}).`;
  return new RunError('TokenStoreUnavailable', what, { cause: error });
}
