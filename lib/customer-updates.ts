import { CfnOutput, Duration, type Stack } from 'aws-cdk-lib';
import type { UpdateStepName } from '../lambdas/shared/steps.ts';
import type { Configuration } from './config.ts';
import { CustomerUpdateWorkflow } from './customer-update-workflow.ts';
import type { ExportBucket } from './export-bucket.ts';
import { StepFunction } from './step-function.ts';
import type { TokenStore } from './token-store.ts';

interface CustomerUpdatesProps {
  configuration: Configuration;
  exports: ExportBucket;
  tokens: TokenStore;
  environment: Record<'BUCKET_NAME' | 'SOFTWARE_VERSION', string> & Record<string, string>;
}

/** Updates of customers in bulk: three functions and their machine. There only where the configuration asks for it. */
export class CustomerUpdates {
  constructor(stack: Stack, { configuration, exports, tokens, environment }: CustomerUpdatesProps) {
    const timeout = Duration.minutes(15);
    const step = (name: UpdateStepName, memorySize: number, names: string[]) =>
      new StepFunction(stack, name, { configuration, memorySize, timeout, environment: only(environment, names) });
    const oauth = ['DEPLOYMENT', 'CLIENT_SECRET_ID', 'TOKENS_SECRET_ID', 'LEDGER_TABLE'];
    // Validation remembers every id of the file, the summary holds parts of two files; a child mostly waits for answers.
    const steps = {
      ValidateBatch: step('ValidateBatch', 512, ['BUCKET_NAME', 'SOFTWARE_VERSION']),
      ApplyChunk: step('ApplyChunk', 256, [...oauth, 'BUCKET_NAME']),
      SummarizeBatch: step('SummarizeBatch', 512, ['BUCKET_NAME']),
    };
    tokens.allowTokens(steps.ApplyChunk.role);
    exports.allowUpdating(steps.ValidateBatch.role, ['_started.json', 'chunks.jsonl']);
    exports.allowUpdating(steps.ApplyChunk.role, ['results/*', 'failures/*', 'stop.json']);
    const summary = ['s3:PutObject', 's3:AbortMultipartUpload'];
    exports.allowUpdating(steps.SummarizeBatch.role, ['result.jsonl', '_manifest.json'], summary);

    const { ValidateBatch, ApplyChunk, SummarizeBatch } = steps;
    const { machine } = new CustomerUpdateWorkflow(stack, 'CustomerUpdates', {
      functions: {
        ValidateBatch: ValidateBatch.alias,
        ApplyChunk: ApplyChunk.alias,
        SummarizeBatch: SummarizeBatch.alias,
      },
      bucket: exports.bucket,
      concurrency: configuration.deployment.updates.concurrency,
    });
    exports.allowReadingIndex(machine.role);
    new CfnOutput(stack, 'UpdatesStateMachineArn', { value: machine.stateMachineArn });
  }
}

function only(environment: Record<string, string>, names: string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => names.includes(name)));
}
