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
 * The ledger entry of a token set, without tokens. `CLAIMED`: a function may be spending it. `STORED`: it has a
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
  /** Why a token set is dead or was refused, as text for a person. */
  reason: z._default(z.string(), ''),
  diedAt: z._default(z.string(), ''),
});

export type LedgerItem = z.infer<typeof itemSchema>;

export type Attributes = Record<string, AttributeValue>;

/** The values of a DynamoDB expression: `{ now: 7 }` becomes `{ ':now': { N: '7' } }`. */
function expressionValues(plain: Record<string, string | number>): Attributes {
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

/** The right to spend one token set, until its deadline: the ledger entry as its owner wrote it. */
export type Claim = LedgerItem & { versionId: string };

/** Whether the token set is worthless: a command that was to replace a dead one counts until its claim is over. */
export function isDead({ state, diedAt, deadline }: LedgerItem, now: Date): boolean {
  return state === 'DEAD' || (state === 'AUTHORIZED' && diedAt !== '' && deadline < now.getTime());
}

/** Ends a claim under which the token was not spent. */
export const CLAIM_RETURNED = { deadline: 0 };

const ABSENT = 'attribute_not_exists(pk)';
/** After its deadline, the claim of a command is free again, unless the command had claimed a dead token set. */
const FREE = `${ABSENT} OR (#deadline < :now AND (#state = :claimed OR (#state = :authorized AND attribute_not_exists(diedAt))))`;
/** An item that was deleted meanwhile (by age, or a restore) has no holder either. */
const OBSERVED = `${ABSENT} OR (#state = :seenState AND #owner = :seenOwner)`;
const OURS = '(#state = :claimed OR #state = :authorized) AND #owner = :ours';

type Values = Record<string, string | number>;

/**
 * One item per token set. A conditional write decides who gets a claim. Claims end by state or deadline. Every method
 * throws RunError `TokenStoreUnavailable`, or `ConfigInvalid` if a permission is missing.
 */
export type Ledger = ReturnType<typeof createLedger>;

/** @param scope the secret of the token sets, so that several deployments could share a table. */
export function createLedger(client: DynamoDBClient, table: string, scope: string) {
  const at = (key: string) => ({ TableName: table, Key: { pk: { S: `${scope}#${key}` } } });
  const unavailable = (error: unknown): never => {
    throw ledgerUnavailable(table, error);
  };
  const set = (versionId: string, values: Values, condition: string, more: Values) =>
    setIf(client, table, `${scope}#${versionId}`, values, { condition, more });
  const claimIf = async (condition: string, versionId: string, now: number, claim: Values, more: Values) => {
    const deadline = now + LEASE_MS;
    const { isSet, item: found } = await set(versionId, { ...claim, deadline, ttl: expiryOf(now) }, condition, more);
    const item = parseItem(found);
    // If the SDK repeats a call whose answer was lost, the second request finds the claim of the first.
    const isOurs = isSet || (item.owner === claim.owner && item.deadline === deadline);
    return isOurs ? { won: true as const, claim: { versionId, ...item } } : { won: false as const, item };
  };
  /** The counter of authorizations has no `ttl`, because it must outlive every grant. */
  const addTo = async (more: number) => {
    const command = new UpdateItemCommand({
      ...at('authorizations'),
      UpdateExpression: 'SET #number = if_not_exists(#number, :zero) + :more',
      ExpressionAttributeNames: { '#number': 'number' },
      ExpressionAttributeValues: expressionValues({ zero: 0, more }),
      ReturnValues: 'ALL_NEW',
    });
    const { Attributes } = await client.send(command).catch(unavailable);
    return Number(Attributes?.number?.N);
  };
  return {
    /** Claims a token set that has no holder, or whose holder's deadline has passed. */
    claim: (versionId: string, owner: string, now: number) =>
      claimIf(FREE, versionId, now, { state: 'CLAIMED', owner }, { claimed: 'CLAIMED', authorized: 'AUTHORIZED', now }),
    /**
     * Claims a token set whose item is still as observed: absent, dead, or held by a holder watched for a whole claim.
     * For `authorize`, whose clock may be wrong. Until the deadline no function claims it; a dead one never.
     */
    claimObserved: (versionId: string, owner: string, now: number, seen: LedgerItem | undefined) => {
      const more: Values = seen ? { seenState: seen.state, seenOwner: seen.owner } : {};
      return claimIf(seen ? OBSERVED : ABSENT, versionId, now, { state: 'AUTHORIZED', owner }, more);
    },
    /** Changes the entry of a claim. If another owner holds it by now, the entry stays as it is. */
    end: async ({ versionId, owner }: Pick<Claim, 'versionId' | 'owner'>, changes: Partial<LedgerItem>) => {
      await set(versionId, changes, OURS, { claimed: 'CLAIMED', authorized: 'AUTHORIZED', ours: owner });
    },
    read: async (versionId: string) => {
      const get = new GetItemCommand({ ...at(versionId), ConsistentRead: true });
      const { Item } = await client.send(get).catch(unavailable);
      return Item && parseItem(Item);
    },
    /** Returns the next authorization number. @param least the lowest number to return, if the ledger was lost */
    takeNumber: async (least: number) => {
      const number = await addTo(1);
      return number >= least ? number : addTo(least - number);
    },
  };
}

/**
 * Sets values of an item, if its condition holds. A refused write returns the item, so the function does not need
 * permission to read the table.
 * @param more further values in the condition
 * @throws RunError `TokenStoreUnavailable`, or `ConfigInvalid` if a permission is missing
 */
export async function setIf(
  client: DynamoDBClient,
  TableName: string,
  pk: string,
  values: Values,
  { condition, more = {} }: { condition?: string; more?: Values } = {},
): Promise<{ isSet: boolean; item: Attributes | undefined }> {
  const UpdateExpression = `SET ${Object.keys(values)
    .map((name) => `#${name} = :${name}`)
    .join(', ')}`;
  const names = `${UpdateExpression} ${condition}`.match(/#\w+/g) ?? [];
  const command = new UpdateItemCommand({
    TableName,
    Key: { pk: { S: pk } },
    ...(condition && { ConditionExpression: condition }),
    UpdateExpression,
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [name, name.slice(1)])),
    ExpressionAttributeValues: expressionValues({ ...values, ...more }),
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  try {
    return { isSet: true, item: (await client.send(command)).Attributes };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return { isSet: false, item: error.Item };
    throw ledgerUnavailable(TableName, error);
  }
}

/** The error if the ledger cannot be used. In this case the token is not spent. */
function ledgerUnavailable(table: string, error: unknown): RunError {
  const name = error instanceof Error ? error.name : 'unknown';
  if (name === 'AccessDeniedException') return accessDenied(`There is no permission to use the table ${table}`, error);
  const what = `The ledger of the OAuth grant could not be used (${name}).`;
  return new RunError('TokenStoreUnavailable', what, { cause: error });
}
