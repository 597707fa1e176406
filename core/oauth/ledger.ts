import { randomUUID } from 'node:crypto';
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import type { RunError } from '../errors.ts';
import { storeError } from './secrets.ts';

/** The ledger entry of a token set, without tokens. */
const itemSchema = z.object({
  /**
   * State of the token set. `CLAIMED`: `owner` may be spending it. `STORED`: its successor is stored. `DEAD`: no
   * function can use it. Commands of earlier releases that were killed may have left other states, which count as dead.
   */
  state: z.catch(z.enum(['CLAIMED', 'STORED', 'DEAD']), 'DEAD'),
  owner: z.string(),
  /** When the claim ends, in milliseconds since 1970; 0 after its owner gave it back. */
  deadline: z.number(),
  /** The number of claims without a usable answer, and the time of the first such claim; 0 without such claims. */
  unanswered: z._default(z.number(), 0),
  unansweredSince: z._default(z.number(), 0),
  /** The number of claims that ended in a refusal with an unrecognised error code. */
  refusals: z._default(z.number(), 0),
  /** Why the token set is dead, or why its last refresh failed, as a text for people. */
  reason: z._default(z.string(), ''),
  diedAt: z._default(z.string(), ''),
});

export type LedgerItem = z.infer<typeof itemSchema>;

/** The ledger entry of a token set. The function that is its owner may spend the token set until the deadline. */
export type Claim = LedgerItem & { versionId: string };

/** How long a claim lasts: 20 s for a request, 10 to 15 s for its repetition, 10 s for storing. */
export const LEASE_MS = 45_000;

/** The change to an entry that ends a claim whose token was not spent. */
export const CLAIM_RETURNED = { deadline: 0 };

export function isDead({ state }: LedgerItem): boolean {
  return state === 'DEAD';
}

/** A claim ends at most this long after now. A later deadline is a pause in which no function refreshes. */
const LATEST_END_MS = LEASE_MS + 15_000;

/**
 * When a token set may be claimed. A command may also claim a dead token set, or any token set during a pause of
 * functions.
 */
const FREE = {
  function: 'attribute_not_exists(pk) OR (#deadline < :now AND #state = :state)',
  command: 'attribute_not_exists(pk) OR #deadline < :now OR #deadline > :latestEnd',
};

/**
 * Has one item per token set. A conditional write decides who gets a claim. A claim ends by its state or its deadline.
 * Every method may throw RunError `TokenStoreUnavailable`, or `ConfigInvalid` if a permission is missing.
 */
export type Ledger = ReturnType<typeof createLedger>;

/** @param scope the secret with the token sets, so that several deployments could share a table */
export function createLedger(client: DynamoDBClient, TableName: string, scope: string) {
  const keyOf = (versionId: string) => `${scope}#${versionId}`;
  /** The counter of authorizations has no `ttl`, because it must outlive every grant. */
  const addTo = async (number: number) => {
    const terms = { number: 'if_not_exists(#number, :zero) + :number' };
    const { item } = await setIf(client, TableName, keyOf('authorizations'), { number }, { terms, more: { zero: 0 } });
    return Number(item?.number?.N);
  };
  return {
    /**
     * Claims a token set that nobody holds, or whose claim has passed its deadline.
     * @param now milliseconds since 1970, by the clock of AWS, which the clocks of functions follow
     */
    claim: async (versionId: string, now: number, by: keyof typeof FREE = 'function') => {
      const owner = randomUUID();
      const values = { state: 'CLAIMED', owner, deadline: now + LEASE_MS, ttl: expiryOf(now) };
      // A dead token set that a command claims stays dead until its successor is stored.
      const terms = { state: 'if_not_exists(#state, :state)' };
      const more: Values = by === 'command' ? { now, latestEnd: now + LATEST_END_MS } : { now };
      const { item } = await setIf(client, TableName, keyOf(versionId), values, { condition: FREE[by], more, terms });
      const claim: Claim = { versionId, ...parseItem(item) };
      // If the SDK repeats a write whose answer was lost, the second write fails but returns the claim of the first.
      return { won: claim.owner === owner, claim };
    },
    /** Changes the entry of a claim, unless another owner has claimed the token set in the meantime. */
    end: async ({ versionId, owner: ours }: Pick<Claim, 'versionId' | 'owner'>, changes: Partial<LedgerItem>) => {
      await setIf(client, TableName, keyOf(versionId), changes, { condition: '#owner = :ours', more: { ours } });
    },
    read: async (versionId: string): Promise<LedgerItem | undefined> => {
      const get = new GetItemCommand({ TableName, Key: { pk: { S: keyOf(versionId) } }, ConsistentRead: true });
      const { Item } = await client.send(get).catch((error: unknown) => {
        throw ledgerUnavailable(TableName, error);
      });
      return Item && parseItem(Item);
    },
    /** Returns the next authorization number. @param least the lowest number to return, in case the ledger was lost */
    takeNumber: async (least: number) => {
      const number = await addTo(1);
      return number >= least ? number : addTo(least - number);
    },
  };
}

function parseItem(attributes: Attributes = {}): LedgerItem {
  const values = Object.entries(attributes).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)]);
  return itemSchema.parse(Object.fromEntries(values));
}

export type Attributes = Record<string, AttributeValue>;
type Values = Record<string, string | number>;

/** Much longer than a late read, retry or event of an old token set can take. */
const KEPT_SECONDS = 30 * 86_400;

/** When DynamoDB may delete an item: the `ttl` of the table, in seconds. @param now milliseconds since 1970 */
export function expiryOf(now: number): number {
  return Math.floor(now / 1000) + KEPT_SECONDS;
}

/**
 * Sets attributes of an item, if its condition holds. A refused write returns the item, so the function does not need
 * permission to read the table.
 * @param how.more further values for the condition and the terms
 * @param how.terms an expression for an attribute, in place of its value
 * @throws RunError `TokenStoreUnavailable`, or `ConfigInvalid` if a permission is missing
 */
export async function setIf(
  client: DynamoDBClient,
  TableName: string,
  pk: string,
  values: Values,
  { condition, more, terms = {} }: { condition?: string; more?: Values; terms?: Record<string, string> } = {},
): Promise<{ isSet: boolean; item: Attributes | undefined }> {
  const sets = Object.keys(values).map((name) => `#${name} = ${terms[name] ?? `:${name}`}`);
  const UpdateExpression = `SET ${sets.join(', ')}`;
  const names = `${UpdateExpression} ${condition}`.match(/#\w+/g) ?? [];
  const entries = Object.entries({ ...values, ...more });
  const command = new UpdateItemCommand({
    TableName,
    Key: { pk: { S: pk } },
    ...(condition && { ConditionExpression: condition }),
    UpdateExpression,
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [name, name.slice(1)])),
    ExpressionAttributeValues: Object.fromEntries(
      entries.map(([name, value]) => [`:${name}`, typeof value === 'number' ? { N: String(value) } : { S: value }]),
    ),
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

/** The error if a call of the ledger failed. In this case the token was not spent. */
function ledgerUnavailable(table: string, error: unknown): RunError {
  return storeError(error, 'The ledger of the OAuth grant could not be used', `use the DynamoDB table ${table}`);
}
