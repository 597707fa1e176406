import { Duration, type Stack } from 'aws-cdk-lib';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import * as sfn from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { UpdateStepName } from '../../core/step/steps.ts';
import { long, type StepsProps, stepFunctions } from './export-steps.ts';
import { streaming } from './node-options.ts';
import type { StepFunction } from './step-function.ts';
import { beginState, connectStep, failStates, machineIn, stepTask } from './step-task.ts';

/** At its configured rate, a batch takes at most two days (`validate-batch.ts`); the third day is for retries. */
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
    const step = stepFunctions(stack, props);
    const bucket = { BUCKET_NAME: exports.bucket.bucketName };
    const validating = { ...bucket, ...streaming(1024, 8), SOFTWARE_VERSION: softwareVersion };
    // ValidateBatch keeps every id in memory. SummarizeBatch keeps parts of two files. ApplyChunk mostly waits.
    const steps = {
      ValidateBatch: step('ValidateBatch', long(1024), validating),
      ApplyChunk: step('ApplyChunk', long(256), { ...tokens.environment, ...bucket }),
      SummarizeBatch: step('SummarizeBatch', long(512), bucket),
    };
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
    const finished = this.end('AnswerChunk', 'ChunkFinished', 'Each line of the chunk has a result');
    const reported = 'The chunk failed or crashed: the summary reports the outcome of its lines';
    const unfinished = this.end('AnswerUnfinished', 'ChunkUnfinished', reported, { unfinished: true });
    const ends = { failed: unfinished, crashed: unfinished, otherwise: unfinished };
    connectStep(this, 'ApplyChunk', apply, { FINISHED: finished, CONTINUE: apply.wait }, ends);
    return apply.task;
  }

  /** A failed chunk ends in Succeed, too. The child's history has the error, and the result of the batch has the lines. */
  private end(answerId: string, endId: string, comment: string, further: Record<string, unknown> = {}) {
    const parameters = { 'chunk.$': '$.chunk.chunk', ...further };
    const answer = new sfn.Pass(this, answerId, { comment: 'Returns only the number of the chunk', parameters });
    return answer.next(new sfn.Succeed(this, endId, { comment }));
  }
}

/** The bucket policy allows reading the index only. CDK's own policy would allow reading all objects. */
class IndexReader extends sfn.S3JsonLItemReader {
  override providePolicyStatements(): PolicyStatement[] {
    return [];
  }
}
