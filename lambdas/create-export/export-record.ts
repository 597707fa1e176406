import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { expiryOf, setIf } from '../../core/oauth/ledger.ts';

/** The table of the ledger. It also stores the exports of runs and the claims of starts. */
export interface Table {
  client: DynamoDBClient;
  name: string;
}

/** The export of a run at the CRM, and the request that it was made for. */
const recordSchema = z.object({
  exportId: z.guid(),
  createdAt: z.iso.datetime(),
  /** The digest of entity and request. */
  fingerprint: z.string(),
  /** The date of the run. */
  date: z.iso.date(),
});
export type ExportRecord = z.infer<typeof recordSchema>;

const keyOf = (execution: string) => `export-of#${execution}`;

/**
 * Records which execution made which export, so that a retry adopts only an export that the record proves.
 * @throws RunError `TokenStoreUnavailable`, or `ConfigInvalid` if a permission is missing
 */
export async function keepRecord({ client, name }: Table, execution: string, record: ExportRecord, now: Date) {
  await setIf(client, name, keyOf(execution), { ...record, ttl: expiryOf(now.getTime()) });
}

/**
 * Marks the record of an execution with its adopter.
 * @returns the record; or the reason why it does not fit this request and date
 * @throws the errors of `keepRecord`
 */
export async function adoptRecord(
  { client, name }: Table,
  execution: string,
  { fingerprint, date }: Pick<ExportRecord, 'fingerprint' | 'date'>,
  adopter: string,
): Promise<ExportRecord | { refused: string }> {
  const fits = { condition: '#fingerprint = :fingerprint AND #date = :date', more: { fingerprint, date } };
  const { isSet, item } = await setIf(client, name, keyOf(execution), { adoptedBy: adopter }, fits);
  if (!isSet)
    return { refused: item ? 'the export was for another request or date' : 'that run has no recorded export' };
  return recordSchema.parse(Object.fromEntries(Object.entries(item ?? {}).map(([key, { S }]) => [key, S])));
}
