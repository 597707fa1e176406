import { Duration, type Stack } from 'aws-cdk-lib';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import type { UpdateStepName } from '../../core/step/steps.ts';
import { letCallCrm } from './crm-access.ts';
import { CustomerUpdateWorkflow } from './customer-update-workflow.ts';
import type { StepsProps } from './export-steps.ts';
import { gathering } from './node-options.ts';
import { aliasesOf, StepFunction } from './step-function.ts';

/** Updates of customers in bulk: three functions and their machine. There only where the configuration has `customerUpdates`. */
export class CustomerUpdates {
  readonly steps: Record<UpdateStepName, StepFunction>;
  readonly machine: StateMachine;

  constructor(stack: Stack, props: StepsProps) {
    const { configuration, key, exports, tokens, softwareVersion } = props;
    const timeout = Duration.minutes(15);
    const step = (name: UpdateStepName, memorySize: number, environment: Record<string, string>) =>
      new StepFunction(stack, name, { configuration, key, memorySize, timeout, environment });
    const bucket = { BUCKET_NAME: exports.bucket.bucketName };
    // Validation remembers every id of the file, the summary holds parts of two files; a child mostly waits for answers.
    this.steps = {
      ValidateBatch: step('ValidateBatch', 512, { ...bucket, ...gathering(512), SOFTWARE_VERSION: softwareVersion }),
      ApplyChunk: step('ApplyChunk', 256, { ...tokens.environment, ...bucket, URL_SUFFIX: stack.urlSuffix }),
      SummarizeBatch: step('SummarizeBatch', 512, bucket),
    };
    const { ValidateBatch, ApplyChunk, SummarizeBatch } = this.steps;
    letCallCrm([ApplyChunk], props);
    exports.allowUpdating(ValidateBatch.role, ['_started.json', 'chunks.jsonl']);
    exports.allowUpdating(ApplyChunk.role, ['results/*', 'failures/*', 'stop.json']);
    exports.allowUpdating(SummarizeBatch.role, ['result.jsonl'], ['s3:PutObject', 's3:AbortMultipartUpload']);
    exports.allowUpdating(SummarizeBatch.role, ['_manifest.json', 'stop.json']);

    const { machine } = new CustomerUpdateWorkflow(stack, 'CustomerUpdates', {
      functions: aliasesOf(this.steps),
      bucket: exports.bucket,
      concurrency: configuration.deployment.updates.concurrency,
      deployment: configuration.deployment,
      key,
    });
    exports.allowReadingIndex(machine.role);
    this.machine = machine;
  }
}
