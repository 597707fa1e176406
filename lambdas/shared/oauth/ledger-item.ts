import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';

/** What the ledger holds of a generation. No tokens. */
const itemSchema = z.object({
  state: z.enum(['CLAIMED', 'STORED', 'DEAD']),
  owner: z.string(),
  attempt: z.number(),
  /** Until when the holder may act, milliseconds since the epoch; 0 when it gave the claim back. */
  deadline: z.number(),
  /** Why a generation is dead, for a person. */
  reason: z._default(z.string(), ''),
  /** When it died. */
  diedAt: z._default(z.string(), ''),
});
export type LedgerItem = z.infer<typeof itemSchema>;

export type Attributes = Record<string, AttributeValue>;

/** Values of an expression: `{ now: 7 }` becomes `{ ':now': { N: '7' } }`. */
export function expressionValues(plain: Record<string, string | number>): Attributes {
  const attribute = (value: string | number) => (typeof value === 'number' ? { N: String(value) } : { S: value });
  return Object.fromEntries(Object.entries(plain).map(([name, value]) => [`:${name}`, attribute(value)]));
}

export function parseItem(item: Attributes | undefined): LedgerItem {
  const plain = Object.entries(item ?? {}).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)]);
  return itemSchema.parse(Object.fromEntries(plain));
}
