import { PutObjectCommand } from '@aws-sdk/client-s3';
import {
  DescribeExecutionCommand,
  ListMapRunsCommand,
  paginateGetExecutionHistory,
  paginateListExecutions,
  type SFNClient,
} from '@aws-sdk/client-sfn';
import { type BatchOptions, startBatch } from '../../../cli/updates/update.ts';
import {
  type BatchManifest,
  batchManifestSchema,
  type ResultLine,
  resultLineSchema,
} from '../../../core/batch/batch-results.ts';
import { createBucket } from '../../../core/storage/bucket.ts';
import { waitUntil } from '../../../local/processes/wait-until.ts';
import { idAt } from '../../../sandbox/data/records.ts';
import type { Deployed } from './deployed.ts';
import type { NamedText } from './everything.ts';

/** The result of an execution of CustomerUpdates. */
export interface Ended {
  status: string;
  error: string;
  cause: string;
}

/** Lines that change so many customers, from `first` on; each contains the text. */
export function changes(count: number, text: string, first = 0): string {
  const lines = Array.from({ length: count }, (_, index) => ({
    id: idAt('customers', first + index),
    firstName: `Dana ${text}`,
    city: `Haifa ${text}`,
    smoker: index % 2 === 0,
  }));
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Tools of the tests for batches. */
export function batchTools(system: Deployed) {
  const read = async (key: string) => {
    return (await createBucket(system.target.s3, system.target.BucketName).read(key))?.text;
  };
  const ended = async (executionArn: string): Promise<Ended> => {
    let execution: Partial<Ended> = {};
    const over = async () => {
      execution = await system.target.sfn.send(new DescribeExecutionCommand({ executionArn }));
      return execution.status !== 'RUNNING';
    };
    await waitUntil(over, { withinMs: 170_000, everyMs: 100 });
    const { status = '', error = '', cause = '' } = execution;
    return { status, error, cause };
  };
  const upload = async (batch: string, text: string): Promise<string> => {
    const Key = `updates/${batch}/input.jsonl`;
    await system.target.s3.send(new PutObjectCommand({ Bucket: system.target.BucketName, Key, Body: text }));
    return Key;
  };
  const machine = () => system.target.UpdatesStateMachineArn ?? '';
  const start = (key: string, options: BatchOptions = {}) =>
    startBatch({ sfn: system.target.sfn, UpdatesStateMachineArn: machine() }, key, options);
  return {
    upload,
    start,
    ended,
    /** Inputs, outputs and histories of the children of all maps. */
    childHistories: () => childHistories(system.target.sfn, machine()),
    apply: async (batch: string, text: string, options: BatchOptions = {}) =>
      ended(await start(await upload(batch, text), options)),
    results: async (batch: string): Promise<ResultLine[]> => {
      const text = (await read(`updates/${batch}/result.jsonl`)) ?? '';
      return text
        .trimEnd()
        .split('\n')
        .map((line) => resultLineSchema.parse(JSON.parse(line)));
    },
    manifest: async (batch: string): Promise<BatchManifest> =>
      batchManifestSchema.parse(JSON.parse((await read(`updates/${batch}/_manifest.json`)) ?? '')),
    /** The calls for each customer since a number of the ledger, by id. */
    callsSince: (seq: number) => {
      const calls = system.sandbox.ledger.calls({ kind: 'update' }).filter((call) => call.seq > seq);
      return Map.groupBy(calls, ({ path }) => path.split('/').at(-1) ?? '');
    },
    lastCall: () => system.sandbox.ledger.calls().at(-1)?.seq ?? 0,
  };
}

async function childHistories(client: SFNClient, stateMachineArn: string): Promise<NamedText[]> {
  const texts: NamedText[] = [];
  for await (const page of paginateListExecutions({ client }, { stateMachineArn })) {
    for (const { executionArn } of page.executions ?? []) {
      const { mapRuns = [] } = await client.send(new ListMapRunsCommand({ executionArn }));
      for (const { mapRunArn } of mapRuns) texts.push(...(await childrenOf(client, mapRunArn ?? '')));
    }
  }
  return texts;
}

async function childrenOf(client: SFNClient, mapRunArn: string): Promise<NamedText[]> {
  const texts: NamedText[] = [];
  for await (const page of paginateListExecutions({ client }, { mapRunArn })) {
    for (const { executionArn = '' } of page.executions ?? []) {
      const seen: unknown[] = [await client.send(new DescribeExecutionCommand({ executionArn }))];
      for await (const { events } of paginateGetExecutionHistory({ client }, { executionArn })) seen.push(events);
      texts.push({ name: executionArn, text: JSON.stringify(seen) });
    }
  }
  return texts;
}
