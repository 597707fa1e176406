import { ConditionalCheckFailedException, type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { type Attributes, expiryOf, expressionValues, ledgerUnavailable } from '../oauth/ledger.ts';

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

const NAMES = { '#date': 'date' };

export function createExportRecords(client: DynamoDBClient, TableName: string): ExportRecords {
  const keyOf = (execution: string): Attributes => ({ pk: { S: `export-of#${execution}` } });
  return {
    keep: async (execution, record, now) => {
      const ttl = expiryOf(now.getTime());
      const command = new UpdateItemCommand({
        TableName,
        Key: keyOf(execution),
        UpdateExpression:
          'SET exportId = :exportId, createdAt = :createdAt, fingerprint = :fingerprint, #date = :date, #ttl = :ttl',
        ExpressionAttributeNames: { ...NAMES, '#ttl': 'ttl' },
        ExpressionAttributeValues: expressionValues({ ...record, ttl }),
      });
      await client.send(command).catch((error: unknown) => {
        throw ledgerUnavailable(TableName, error);
      });
    },
    adopt: async (execution, { fingerprint, date }, adopter) => {
      // A refused write returns the item, so the function does not need permission to read the table.
      const command = new UpdateItemCommand({
        TableName,
        Key: keyOf(execution),
        ConditionExpression: 'fingerprint = :fingerprint AND #date = :date',
        UpdateExpression: 'SET adoptedBy = :adopter',
        ExpressionAttributeNames: NAMES,
        ExpressionAttributeValues: expressionValues({ fingerprint, date, adopter }),
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      try {
        return parseRecord((await client.send(command)).Attributes);
      } catch (error) {
        if (!(error instanceof ConditionalCheckFailedException)) throw ledgerUnavailable(TableName, error);
        return { refused: error.Item ? 'it was for another request or date' : 'that run has no recorded export' };
      }
    },
  };
}

function parseRecord(attributes: Attributes = {}): ExportRecord {
  return recordSchema.parse(Object.fromEntries(Object.entries(attributes).map(([name, { S }]) => [name, S])));
}
