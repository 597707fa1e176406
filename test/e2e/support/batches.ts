import { PutObjectCommand } from '@aws-sdk/client-s3';
import { DescribeExecutionCommand } from '@aws-sdk/client-sfn';
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
    await waitUntil(over, { withinMs: 280_000, everyMs: 100 });
    const { status = '', error = '', cause = '' } = execution;
    return { status, error, cause };
  };
  const upload = async (batch: string, text: string): Promise<string> => {
    const Key = `updates/${batch}/input.jsonl`;
    await system.target.s3.send(new PutObjectCommand({ Bucket: system.target.BucketName, Key, Body: text }));
    return Key;
  };
  const start = (key: string, options: BatchOptions = {}) => {
    const { sfn, UpdatesStateMachineArn = '' } = system.target;
    return startBatch({ sfn, UpdatesStateMachineArn }, key, options);
  };
  return {
    upload,
    start,
    ended,
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
