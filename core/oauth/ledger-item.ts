import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';

/** What the ledger holds of a generation. No tokens. */
const itemSchema = z.object({
  state: z.enum(['CLAIMED', 'STORED', 'DEAD']),
  owner: z.string(),
  /** The time until which nobody else may claim, milliseconds since the epoch; 0 when the claim was given back. */
  deadline: z.number(),
  /** Requests without a usable answer, and when the first of them was; 0 without any. */
  unanswered: z._default(z.number(), 0),
  unansweredSince: z._default(z.number(), 0),
  /** When a person authorized over this generation. */
  authorizedAt: z._default(z.string(), ''),
  /** Why a generation is dead, for a person. */
  reason: z._default(z.string(), ''),
  diedAt: z._default(z.string(), ''),
});

/**
 * `CLAIMED`: a function may be spending it. `STORED`: it has a successor. `DEAD`: its token is worthless. `AUTHORIZED`: a
 * person authorized over it; in the table a marked claim, for the previous release cannot read a fourth state.
 */
export type LedgerItem = Omit<z.infer<typeof itemSchema>, 'state'> & {
  state: 'CLAIMED' | 'STORED' | 'DEAD' | 'AUTHORIZED';
};

export function inTable(state: LedgerItem['state']): string {
  return state === 'AUTHORIZED' ? 'CLAIMED' : state;
}

export type Attributes = Record<string, AttributeValue>;

/** Values of an expression: `{ now: 7 }` becomes `{ ':now': { N: '7' } }`. */
export function expressionValues(plain: Record<string, string | number>): Attributes {
  const attribute = (value: string | number) => (typeof value === 'number' ? { N: String(value) } : { S: value });
  return Object.fromEntries(Object.entries(plain).map(([name, value]) => [`:${name}`, attribute(value)]));
}

/** Far above any stale read, hung retry or late event. */
const KEPT_SECONDS = 30 * 86_400;

/** When an item may go: the `ttl` of the table, in seconds. @param now milliseconds */
export function expiryOf(now: number): number {
  return Math.floor(now / 1000) + KEPT_SECONDS;
}

export function parseItem(attributes: Attributes | undefined): LedgerItem {
  const plain = Object.entries(attributes ?? {}).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)]);
  const item = itemSchema.parse(Object.fromEntries(plain));
  // The previous release marked such a claim by the reason of the death alone, and quoted the CRM in brackets there.
  const authorized = item.state === 'CLAIMED' && (item.authorizedAt !== '' || item.reason !== '');
  return { ...item, state: authorized ? 'AUTHORIZED' : item.state, reason: item.reason.replace(/ \(.*\)/s, '') };
}
