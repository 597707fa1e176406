import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { type Attributes, expiryOf, setIf } from '../oauth/ledger.ts';

/** The export of a run at the CRM, and the request that it was made for. */
const recordSchema = z.object({
  exportId: z.guid(),
  createdAt: z.iso.datetime(),
  /** The digest of entity and request. */
  fingerprint: z.string(),
  /** The logical date. */
  date: z.iso.date(),
});
export type ExportRecord = z.infer<typeof recordSchema>;

/**
 * Records which execution made which export, in the table of the ledger, so that a retry adopts only an export that the
 * record proves. Both methods throw RunError `TokenStoreUnavailable`, or `ConfigInvalid` if a permission is missing.
 */
export interface ExportRecords {
  keep(execution: string, record: ExportRecord, now: Date): Promise<void>;
  /** Marks the record with its adopter and returns it; or the reason why it does not fit this request and date. */
  adopt(
    execution: string,
    wanted: Pick<ExportRecord, 'fingerprint' | 'date'>,
    adopter: string,
  ): Promise<ExportRecord | { refused: string }>;
}

export function createExportRecords(client: DynamoDBClient, table: string): ExportRecords {
  const keyOf = (execution: string) => `export-of#${execution}`;
  return {
    keep: async (execution, record, now) => {
      await setIf(client, table, keyOf(execution), { ...record, ttl: expiryOf(now.getTime()) });
    },
    adopt: async (execution, { fingerprint, date }, adopter) => {
      const { isSet, item } = await setIf(
        client,
        table,
        keyOf(execution),
        { adoptedBy: adopter },
        { condition: '#fingerprint = :fingerprint AND #date = :date', more: { fingerprint, date } },
      );
      if (isSet) return parseRecord(item);
      return { refused: item ? 'the export was for another request or date' : 'that run has no recorded export' };
    },
  };
}

function parseRecord(attributes: Attributes = {}): ExportRecord {
  return recordSchema.parse(Object.fromEntries(Object.entries(attributes).map(([name, { S }]) => [name, S])));
}
