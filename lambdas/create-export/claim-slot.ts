import { ConditionalCheckFailedException, type DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Entity } from '../../core/config/entities.ts';
import { expiryOf, expressionValues, ledgerUnavailable } from '../../core/oauth/ledger.ts';

/**
 * Claims a start by a rule for an execution, which finds its own claim again.
 * @returns the execution that has it, where that is another
 * @throws RunError `TokenStoreUnavailable`, or `ConfigInvalid` where a right is missing
 */
export type ClaimSlot = (slot: { entity: Entity; at: Date }, execution: string) => Promise<string | undefined>;

/**
 * Claims are items of the table that holds the ledger of the grant: EventBridge may deliver an event twice, within seconds, and
 * only a conditional write tells which was first.
 */
export function createClaimSlot(client: DynamoDBClient, TableName: string, now: () => Date): ClaimSlot {
  return async ({ entity, at }, execution) => {
    const ttl = expiryOf(now().getTime());
    const command = new UpdateItemCommand({
      TableName,
      Key: { pk: { S: `slot#${entity}#${at.toISOString().slice(0, 16)}Z` } },
      ConditionExpression: 'attribute_not_exists(pk) OR #owner = :owner',
      UpdateExpression: 'SET #owner = :owner, #ttl = :ttl',
      ExpressionAttributeNames: { '#owner': 'owner', '#ttl': 'ttl' },
      ExpressionAttributeValues: expressionValues({ owner: execution, ttl }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      await client.send(command);
      return undefined;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return error.Item?.owner?.S ?? 'another execution';
      throw ledgerUnavailable(TableName, error);
    }
  };
}
