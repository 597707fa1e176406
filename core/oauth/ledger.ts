import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { RunError } from '../errors.ts';
import { accessDenied } from './secrets.ts';

/**
 * The ledger entry of a generation, without tokens. `CLAIMED`: a function may be spending it. `STORED`: it has a
 * successor. `DEAD`: worthless. `AUTHORIZED`: a command is replacing it, with `diedAt` if it was dead.
 */
const itemSchema = z.object({
  state: z.enum(['CLAIMED', 'STORED', 'DEAD', 'AUTHORIZED']),
  owner: z.string(),
  /** Until when the claim excludes all others, in milliseconds since the epoch; 0 after the claim was given back. */
  deadline: z.number(),
  /** Requests without a usable answer, and the time of the first; 0 if there were none. */
  unanswered: z._default(z.number(), 0),
  unansweredSince: z._default(z.number(), 0),
  /** Claims that ended in a refusal with an unrecognised error code; 0 if there were none. */
  refusals: z._default(z.number(), 0),
  /** When a person authorized again and replaced this generation. */
  authorizedAt: z._default(z.string(), ''),
  /** Why a generation is dead or was refused, as text for a person. */
  reason: z._default(z.string(), ''),
  diedAt: z._default(z.string(), ''),
});

export type LedgerItem = z.infer<typeof itemSchema>;

export type Attributes = Record<string, AttributeValue>;

/** The values of a DynamoDB expression: `{ now: 7 }` becomes `{ ':now': { N: '7' } }`. */
export function expressionValues(plain: Record<string, string | number>): Attributes {
  const attribute = (value: string | number) => (typeof value === 'number' ? { N: String(value) } : { S: value });
  return Object.fromEntries(Object.entries(plain).map(([name, value]) => [`:${name}`, attribute(value)]));
}

/** Much longer than any stale read, hung retry or late event lasts. */
const KEPT_SECONDS = 30 * 86_400;

/** When DynamoDB may delete an item: the `ttl` of the table, in seconds. @param now milliseconds */
export function expiryOf(now: number): number {
  return Math.floor(now / 1000) + KEPT_SECONDS;
}

function parseItem(attributes: Attributes | undefined): LedgerItem {
  const plain = Object.entries(attributes ?? {}).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)]);
  return itemSchema.parse(Object.fromEntries(plain));
}

/** How long a claim lasts: 20 + 10 s of requests, 10 s of storing, 5 s of margin. */
export const LEASE_MS = 45_000;
const MINUTE_MS = 60_000;
/** The wait by number of unanswered requests with a token; after the first one, the claim alone is the wait. */
const HOLDS_MS = [0, 30 * MINUTE_MS, 60 * MINUTE_MS, 120 * MINUTE_MS];

/** The right to spend one generation, until its deadline. */
export interface Claim {
  versionId: string;
  owner: string;
  deadline: number;
  /** Earlier requests with this token that got no usable answer, and the time of the first; 0 if there were none. */
  unanswered: number;
  unansweredSince: number;
  /** Earlier claims that ended in a refusal with an unrecognised error code. */
  refusals: number;
}

export type ClaimAnswer = { won: true; claim: Claim } | { won: false; item: LedgerItem };

/**
 * One item per generation. A conditional write decides who gets a claim. Claims end by state or deadline. Every method
 * throws RunError `TokenStoreUnavailable`, or `ConfigInvalid` if a permission is missing.
 */
export interface Ledger {
  /** Claims a generation that has no holder, or whose holder's deadline has passed. */
  claim(versionId: string, owner: string, now: number): Promise<ClaimAnswer>;
  /**
   * Claims a generation whose item is still as observed: absent, dead, or held by a holder watched for a whole claim.
   * For `authorize`, whose clock may be wrong. Until the deadline no function claims it; a dead one never.
   */
  claimObserved(versionId: string, owner: string, now: number, seen: LedgerItem | undefined): Promise<ClaimAnswer>;
  /** Ends a claim under which the token was not spent. */
  giveBack(claim: Pick<Claim, 'versionId' | 'owner'>): Promise<void>;
  /** Delays the next claim, longer after each unanswered request. */
  markUnanswered(claim: Claim, now: number): Promise<void>;
  /** Delays the next claim until that time. The generation is not dead. */
  markRefused(claim: Claim, reason: string, until: number): Promise<void>;
  markStored(claim: Claim): Promise<void>;
  markDead(claim: Claim, reason: string, now: Date): Promise<void>;
  read(versionId: string): Promise<LedgerItem | undefined>;
  /** Returns the next authorization number. @param least the lowest number to return, if the ledger was lost */
  takeNumber(least: number): Promise<number>;
}

const ABSENT = 'attribute_not_exists(pk)';
/** After its deadline, the claim of a command is free again, unless the command had claimed a dead generation. */
const FREE =
  'attribute_not_exists(pk) OR (deadline < :now AND (#state = :taken OR (#state = :authorized AND attribute_not_exists(diedAt))))';
/** An item that was deleted meanwhile (by age, or a restore) has no holder either. */
const OBSERVED = 'attribute_not_exists(pk) OR (#state = :seenState AND #owner = :seenOwner)';
const OURS = '(#state = :claimed OR #state = :authorized) AND #owner = :owner';
const TAKE = 'SET #state = :taken, #owner = :owner, deadline = :deadline, #ttl = :ttl';
const NAMES = { '#state': 'state', '#owner': 'owner' };

interface LedgerTable {
  client: DynamoDBClient;
  TableName: string;
  keyOf: (versionId: string) => Attributes;
}

/** @param scope the secret of the generations, so that several deployments could share a table. */
export function createLedger(client: DynamoDBClient, table: string, scope: string): Ledger {
  const at: LedgerTable = { client, TableName: table, keyOf: (versionId) => ({ pk: { S: `${scope}#${versionId}` } }) };
  return {
    claim: (versionId, owner, now) => {
      const more = { taken: 'CLAIMED', authorized: 'AUTHORIZED', now };
      return claimIf(at, { condition: FREE, update: TAKE, more }, versionId, owner, now);
    },
    claimObserved: (versionId, owner, now, seen) => {
      const marks = { taken: 'AUTHORIZED', authorizedAt: new Date(now).toISOString() };
      const more = seen ? { ...marks, seenState: seen.state, seenOwner: seen.owner } : marks;
      const update = `${TAKE}, authorizedAt = :authorizedAt`;
      return claimIf(at, { condition: seen ? OBSERVED : ABSENT, update, more }, versionId, owner, now);
    },
    giveBack: (claim) => end(at, claim, 'SET deadline = :zero', { zero: 0 }),
    markUnanswered: (claim, now) => {
      const deadline = Math.max(claim.deadline, now + (HOLDS_MS[claim.unanswered] ?? HOLDS_MS.at(-1) ?? 0));
      const values = { deadline, count: claim.unanswered + 1, since: claim.unansweredSince || now };
      return end(at, claim, 'SET deadline = :deadline, unanswered = :count, unansweredSince = :since', values);
    },
    markRefused: (claim, reason, until) => {
      const values = { deadline: until, count: claim.refusals + 1, reason };
      return end(at, claim, 'SET deadline = :deadline, refusals = :count, reason = :reason', values);
    },
    markStored: (claim) => end(at, claim, 'SET #state = :stored', { stored: 'STORED' }),
    markDead: (claim, reason, now) => {
      const death = { dead: 'DEAD', reason, diedAt: now.toISOString() };
      return end(at, claim, 'SET #state = :dead, reason = :reason, diedAt = :diedAt', death);
    },
    read: (versionId) => read(at, versionId),
    takeNumber: async (least) => {
      const number = await addTo(at, 1);
      return number >= least ? number : addTo(at, least - number);
    },
  };
}

type Values = Record<string, string | number>;

async function claimIf(
  { client, TableName, keyOf }: LedgerTable,
  { condition, update, more }: { condition: string; update: string; more: Values },
  versionId: string,
  owner: string,
  now: number,
): Promise<ClaimAnswer> {
  const deadline = now + LEASE_MS;
  const ttl = expiryOf(now);
  const command = new UpdateItemCommand({
    TableName,
    Key: keyOf(versionId),
    ConditionExpression: condition,
    UpdateExpression: update,
    ExpressionAttributeNames: { ...NAMES, '#ttl': 'ttl' },
    ExpressionAttributeValues: expressionValues({ owner, deadline, ttl, ...more }),
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  const won = ({ unanswered, unansweredSince, refusals }: LedgerItem): ClaimAnswer => {
    return { won: true, claim: { versionId, owner, deadline, unanswered, unansweredSince, refusals } };
  };
  try {
    return won(parseItem((await client.send(command)).Attributes));
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw ledgerUnavailable(TableName, error);
    const item = parseItem(error.Item);
    // If the SDK repeats a call whose answer was lost, the second request finds the claim of the first.
    const ours = item.owner === owner && item.deadline === deadline;
    return ours ? won(item) : { won: false, item };
  }
}

/** If another owner holds the claim by now, the item is not changed. */
async function end(
  { client, TableName, keyOf }: LedgerTable,
  { owner, versionId }: Pick<Claim, 'versionId' | 'owner'>,
  update: string,
  more: Values,
): Promise<void> {
  const command = new UpdateItemCommand({
    TableName,
    Key: keyOf(versionId),
    ConditionExpression: OURS,
    UpdateExpression: update,
    ExpressionAttributeNames: NAMES,
    ExpressionAttributeValues: expressionValues({ claimed: 'CLAIMED', authorized: 'AUTHORIZED', owner, ...more }),
  });
  await client.send(command).catch((error: unknown) => {
    if (!(error instanceof ConditionalCheckFailedException)) throw ledgerUnavailable(TableName, error);
  });
}

async function read({ client, TableName, keyOf }: LedgerTable, versionId: string): Promise<LedgerItem | undefined> {
  const get = new GetItemCommand({ TableName, Key: keyOf(versionId), ConsistentRead: true });
  const { Item } = await client.send(get).catch((error: unknown) => {
    throw ledgerUnavailable(TableName, error);
  });
  return Item && parseItem(Item);
}

/** The counter of authorizations has no `ttl`, because it must outlive every grant. */
async function addTo({ client, TableName, keyOf }: LedgerTable, more: number): Promise<number> {
  const command = new UpdateItemCommand({
    TableName,
    Key: keyOf('authorizations'),
    UpdateExpression: 'SET #number = if_not_exists(#number, :zero) + :more',
    ExpressionAttributeNames: { '#number': 'number' },
    ExpressionAttributeValues: expressionValues({ zero: 0, more }),
    ReturnValues: 'ALL_NEW',
  });
  const { Attributes } = await client.send(command).catch((error: unknown) => {
    throw ledgerUnavailable(TableName, error);
  });
  return Number(Attributes?.number?.N);
}

/** The error if the ledger cannot be used. In this case the token is not spent. */
export function ledgerUnavailable(table: string, error: unknown): RunError {
  const name = error instanceof Error ? error.name : 'unknown';
  if (name === 'AccessDeniedException') return accessDenied(`The table ${table} may not be used`, error);
  const what = `The ledger of the OAuth grant could not be used (${name}).`;
  return new RunError('TokenStoreUnavailable', what, { cause: error });
}
