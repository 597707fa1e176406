import { ConditionalCheckFailedException, type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import * as z from 'zod/mini';
import { type Attributes, expiryOf, expressionValues, ledgerUnavailable } from '../oauth/ledger.ts';

/** The export that a run has at the CRM, and what it was requested for. */
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
 * Which execution made which export, in the table of the ledger: a retry takes nobody's word for whose export it
 * adopts. Both methods throw RunError `TokenStoreUnavailable`, or `ConfigInvalid` where a right is missing.
 */
export interface ExportRecords {
  keep(execution: string, record: ExportRecord, now: Date): Promise<void>;
  /** The record of an execution, which then names its adopter; or why there is none for this request and date. */
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
      // A refused write returns the item, so no function needs the right to read the table.
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
        return { refused: error.Item ? 'it was for another request or date' : 'no export of that run is known' };
      }
    },
  };
}

function parseRecord(attributes: Attributes = {}): ExportRecord {
  return recordSchema.parse(Object.fromEntries(Object.entries(attributes).map(([name, { S }]) => [name, S])));
}
