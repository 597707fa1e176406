import { FilterLogEventsCommand, paginateDescribeLogGroups } from '@aws-sdk/client-cloudwatch-logs';
import { paginateScan } from '@aws-sdk/client-dynamodb';
import { GetObjectCommand, HeadObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3';
import {
  DescribeExecutionCommand,
  ListMapRunsCommand,
  paginateGetExecutionHistory,
  paginateListExecutions,
  type SFNClient,
} from '@aws-sdk/client-sfn';
import type { Target } from '../../../cli/support/target.ts';
import { jsonLines } from '../../support/written.ts';

/** A place of a possible leak, and its whole text. */
export interface NamedText {
  name: string;
  text: string;
}

/** Inputs, outputs, errors and histories of all executions of a deployment, and of the children of maps. */
export async function histories({ sfn, StateMachineArn, UpdatesStateMachineArn }: Target): Promise<NamedText[]> {
  const machines = [StateMachineArn, UpdatesStateMachineArn ?? []].flat();
  const texts = machines.map((stateMachineArn) => historiesOf(sfn, { stateMachineArn }));
  return (await Promise.all(texts)).flat();
}

type ExecutionsOf = { stateMachineArn: string } | { mapRunArn: string | undefined };

async function historiesOf(client: SFNClient, of: ExecutionsOf): Promise<NamedText[]> {
  const texts: NamedText[] = [];
  for await (const page of paginateListExecutions({ client }, of)) {
    for (const { executionArn = '' } of page.executions ?? []) {
      const seen: unknown[] = [await client.send(new DescribeExecutionCommand({ executionArn }))];
      for await (const { events } of paginateGetExecutionHistory({ client }, { executionArn })) seen.push(events);
      texts.push({ name: executionArn, text: JSON.stringify(seen) });
      if ('mapRunArn' in of) continue;
      const { mapRuns = [] } = await client.send(new ListMapRunsCommand({ executionArn }));
      for (const { mapRunArn } of mapRuns) texts.push(...(await historiesOf(client, { mapRunArn })));
    }
  }
  return texts;
}

/** Every line that the functions and machines of a deployment logged. */
export async function logs({ logs: client, stack }: Target): Promise<NamedText[]> {
  const texts: NamedText[] = [];
  for await (const page of paginateDescribeLogGroups({ client }, {})) {
    for (const { logGroupName = '' } of page.logGroups ?? []) {
      if (!logGroupName.includes(`/${stack}-`)) continue;
      const { events = [] } = await client.send(new FilterLogEventsCommand({ logGroupName, limit: 10_000 }));
      texts.push({ name: logGroupName, text: events.map(({ message }) => message).join('\n') });
    }
  }
  return texts;
}

/** The JSON fields of each line, for lines that have some. */
export async function linesOf(target: Target) {
  return (await logs(target)).flatMap(({ text }) => jsonLines(text));
}

/** Keys and metadata of all objects, and the texts of manifests and pointers, but not of the files. */
export async function objects({ s3, BucketName }: Target): Promise<{ metadata: NamedText[]; files: NamedText[] }> {
  const metadata: NamedText[] = [];
  const files: NamedText[] = [];
  for await (const page of paginateListObjectsV2({ client: s3 }, { Bucket: BucketName })) {
    for (const { Key = '' } of page.Contents ?? []) {
      const head = await s3.send(new HeadObjectCommand({ Bucket: BucketName, Key }));
      metadata.push({ name: Key, text: JSON.stringify({ Key, ...head, $metadata: undefined }) });
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: BucketName, Key }));
      const found = { name: Key, text: (await Body?.transformToString()) ?? '' };
      (Key.endsWith('.json') ? metadata : files).push(found);
    }
  }
  return { metadata, files };
}

export async function ledgerItems({ dynamo, LedgerTableName }: Target): Promise<NamedText[]> {
  const texts: NamedText[] = [];
  for await (const { Items = [] } of paginateScan({ client: dynamo }, { TableName: LedgerTableName })) {
    texts.push({ name: LedgerTableName, text: JSON.stringify(Items) });
  }
  return texts;
}
