import { Duration, type Stack } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { UpdateStepName } from '../../core/step/steps.ts';
import { allowCrmCalls } from './crm-access.ts';
import type { StepsProps } from './export-steps.ts';
import { streaming } from './node-options.ts';
import { StepFunction } from './step-function.ts';
import { beginState, connectStep, type Ends, failStates, machineIn, stepTask } from './step-task.ts';

/** At its rate, a batch takes at most two days (`validate-batch.ts`); the third day is for retries. */
const TIMEOUT = Duration.days(3);

type UpdateSteps = Record<UpdateStepName, StepFunction>;

/**
 * Bulk updates of customers, if configured (`customerUpdates`): three functions and their machine, of which one execution
 * applies one batch. docs/design/customer-updates.md has the picture.
 */
export class CustomerUpdates extends Construct {
  readonly machine: sfn.StateMachine;

  constructor(stack: Stack, id: string, props: StepsProps) {
    super(stack, id);
    const { configuration, key, exports, tokens, softwareVersion } = props;
    const { deployment } = configuration;
    const timeout = Duration.minutes(15);
    const step = (name: UpdateStepName, memorySize: number, environment: Record<string, string>) =>
      new StepFunction(stack, name, { configuration, key, memorySize, timeout, environment });
    const bucket = { BUCKET_NAME: exports.bucket.bucketName };
    const validating = { ...bucket, ...streaming(1024, 8), SOFTWARE_VERSION: softwareVersion };
    // Validation keeps every id in memory, and the summary parts of two files; a child mostly waits for answers.
    const steps = {
      ValidateBatch: step('ValidateBatch', 1024, validating),
      ApplyChunk: step('ApplyChunk', 256, { ...tokens.environment, ...bucket }),
      SummarizeBatch: step('SummarizeBatch', 512, bucket),
    };
    allowCrmCalls([steps.ApplyChunk], props);
    for (const [name, { role }] of Object.entries(steps)) exports.allow(name as UpdateStepName, role);
    const comment =
      'Applies one batch: validate, apply, summarize. Start it with {"file":"updates/BATCH/input.jsonl"}.';
    const start = this.definition(steps, exports.bucket, deployment.updates.concurrency);
    this.machine = machineIn(this, { deployment, key }, { comment, start, timeout: TIMEOUT });
    exports.allow('CustomerUpdates', this.machine.role);
  }

  /** @param concurrency chunks that are applied at the same time */
  private definition(steps: UpdateSteps, bucket: IBucket, concurrency: number): sfn.IChainable {
    const validate = stepTask(
      this,
      'ValidateBatch',
      'Checks every line, writes the index of chunks',
      steps.ValidateBatch,
      ['WaitBeforeValidate', 'The file could not be read yet'],
    );
    const applyChunks = this.applyChunks(steps, bucket, concurrency);
    const summarize = stepTask(this, 'SummarizeBatch', 'Joins the results, writes the manifest', steps.SummarizeBatch, [
      'WaitBeforeSummarize',
      'The results cannot be read yet, or a function may be sending',
    ]);
    const applied = new sfn.Succeed(this, 'BatchApplied', { comment: 'Every line was applied; see the manifest' });
    const ids = { failed: 'BatchFailed', crashed: 'BatchCrashed', otherwise: 'BatchOutcomeUnknown' };
    const ends = failStates(this, ids);
    connectStep(this, 'ValidateBatch', validate, { VALIDATED: applyChunks, CONTINUE: validate.wait }, ends);
    applyChunks.next(summarize.task);
    // The summary also follows a failed map. States.ALL does not catch an output that is too large.
    applyChunks.addCatch(summarize.task, { errors: ['States.DataLimitExceeded'], resultPath: '$.crash' });
    applyChunks.addCatch(summarize.task, { resultPath: '$.crash' });
    connectStep(this, 'SummarizeBatch', summarize, { SUMMARIZED: applied, CONTINUE: summarize.wait }, ends);
    return beginState(this, 'BeginBatch', 'batch').next(validate.task);
  }

  /**
   * Each chunk has a child, and a failed child does not stop the others. AWS limits the results of all children
   * together to 256 KB, although they are discarded, and a failed child needs about 1.4 KB. So the children are built
   * to succeed always.
   */
  private applyChunks(steps: UpdateSteps, bucket: IBucket, concurrency: number): sfn.DistributedMap {
    const map = new sfn.DistributedMap(this, 'ApplyChunks', {
      comment: 'Applies each chunk of the index in an execution of its own',
      // A part of the names of the children and of their metrics.
      label: 'ApplyChunks',
      mapExecutionType: sfn.StateMachineType.STANDARD,
      itemReader: new IndexReader({ bucket, key: sfn.JsonPath.stringAt('$.batch.chunksKey') }),
      itemSelector: {
        input: {},
        'machineVersion.$': '$.machineVersion',
        'execution.$': '$.execution',
        'startedAt.$': '$.startedAt',
        'batch.$': '$.batch',
        'chunk.$': '$$.Map.Item.Value',
      },
      maxConcurrency: concurrency,
      toleratedFailurePercentage: 100,
      resultPath: sfn.JsonPath.DISCARD,
    });
    map.itemProcessor(this.child(steps));
    return map;
  }

  private child({ ApplyChunk }: UpdateSteps): sfn.IChainable {
    const comment = 'Sends the lines of one chunk, and stores the outcome of each';
    const why = 'The chunk continues in another invocation';
    const apply = stepTask(this, 'ApplyChunk', comment, ApplyChunk, ['WaitBeforeApply', why]);
    const finished = new sfn.Succeed(this, 'ChunkFinished', { comment: 'Each of its lines has a result' });
    const answer = this.answer('AnswerChunk', 'Returns only the number of the chunk').next(finished);
    connectStep(this, 'ApplyChunk', apply, { FINISHED: answer, CONTINUE: apply.wait }, this.chunkEnds());
    return apply.task;
  }

  /** A failed chunk ends well: the error is in the child's history, and its lines are in the batch's result. */
  private chunkEnds(): Ends {
    const why = 'The summary reports the outcome of its lines';
    const unfinished = new sfn.Succeed(this, 'ChunkUnfinished', { comment: why });
    const end = (id: string, comment: string) => this.answer(id, comment, { unfinished: true }).next(unfinished);
    const unknown = 'A step returned an outcome that the state machine does not have: see outcome';
    return {
      failed: end('ChunkFailed', 'A step ended the chunk: see failure'),
      crashed: end('ChunkCrashed', 'A function was killed or threw an unexpected error: see crash'),
      otherwise: end('ChunkOutcomeUnknown', unknown),
    };
  }

  private answer(id: string, comment: string, further: Record<string, unknown> = {}): sfn.Pass {
    return new sfn.Pass(this, id, { comment, parameters: { 'chunk.$': '$.chunk.chunk', ...further } });
  }
}

/** The bucket policy allows reading the index only. CDK's own policy would allow reading all objects. */
class IndexReader extends sfn.S3JsonLItemReader {
  override providePolicyStatements(): PolicyStatement[] {
    return [];
  }
}
