import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';

/**
 * What the ledger holds of a generation. No tokens. `CLAIMED`: a function may be spending it. `STORED`: it has a successor.
 * `DEAD`: its token is worthless. `AUTHORIZED`: a command is storing the grant of a person over it; with `diedAt`, over a dead one.
 */
const itemSchema = z.object({
  state: z.enum(['CLAIMED', 'STORED', 'DEAD', 'AUTHORIZED']),
  owner: z.string(),
  /** The time until which nobody else may claim, milliseconds since the epoch; 0 when the claim was given back. */
  deadline: z.number(),
  /** Requests without a usable answer, and when the first of them was; 0 without any. */
  unanswered: z._default(z.number(), 0),
  unansweredSince: z._default(z.number(), 0),
  /** Claims that ended in a refusal whose word is not known; 0 without any. */
  refusals: z._default(z.number(), 0),
  /** When a person authorized over this generation. */
  authorizedAt: z._default(z.string(), ''),
  /** Why a generation is dead, or was refused, for a person. */
  reason: z._default(z.string(), ''),
  diedAt: z._default(z.string(), ''),
});

export type LedgerItem = z.infer<typeof itemSchema>;

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
  return itemSchema.parse(Object.fromEntries(plain));
}
