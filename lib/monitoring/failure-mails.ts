import { Duration, Stack } from 'aws-cdk-lib';
import { Rule, RuleTargetInput, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { Configuration } from '../../core/config/configuration.ts';
import { MAILER } from '../../core/step/steps.ts';
import type { EncryptionKey } from '../resources/encryption-key.ts';
import type { ExportBucket } from '../resources/export-bucket.ts';
import { StepFunction } from '../workflow/step-function.ts';
import type { Monitoring, Watched } from './monitoring.ts';

interface FailureMailsProps extends Pick<Watched, 'machines' | 'deadLetterQueue'> {
  configuration: Configuration;
  key: EncryptionKey;
  exports: ExportBucket;
  monitoring: Monitoring;
}

/** How often the queue is read. */
const EVERY = Duration.minutes(15);
/** Five hours of readings: a message that waits for others of its cause is read six times at most. */
const MOST_READINGS = 20;

/**
 * Mails each cause for which runs failed, once for all of them: a rule puts ends of executions into a queue, and a function
 * reads that every quarter of an hour (docs/adr/0038). What is not mailed raises MailsNotSent.
 */
export class FailureMails extends Construct {
  constructor(scope: Construct, id: string, props: FailureMailsProps) {
    super(scope, id);
    const { key, deadLetterQueue, monitoring } = props;
    const queue = new Queue(this, 'Queue', {
      encryption: QueueEncryption.KMS,
      encryptionMasterKey: key.key,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
      visibilityTimeout: Duration.minutes(5),
      deadLetterQueue: { queue: deadLetterQueue, maxReceiveCount: MOST_READINGS },
    });
    this.collect(props, queue);
    const { alias, functionName } = this.mailer(props, queue);
    monitoring.watchMails(queue, { functionName });
    new Rule(this, 'Every', {
      description: 'Mails what became of runs that failed',
      schedule: Schedule.rate(EVERY),
      targets: [new LambdaFunction(alias, { deadLetterQueue })],
    });
  }

  /** A run that somebody stops is told to nobody: whoever did it knows, and ExecutionsAborted tells the others. */
  private collect({ machines, deadLetterQueue }: FailureMailsProps, queue: Queue): void {
    const watched = [machines.export, ...(machines.updates ? [machines.updates] : [])];
    const rule = new Rule(this, 'Failed', {
      description: 'Puts ends of failed executions into the queue of mails',
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: { stateMachineArn: watched.map((machine) => machine.stateMachineArn), status: ['FAILED', 'TIMED_OUT'] },
      },
    });
    const input = RuleTargetInput.fromEventPath('$.detail');
    rule.addTarget({
      bind: () => ({ arn: queue.queueArn, input, deadLetterConfig: { arn: deadLetterQueue.queueArn } }),
    });
    // CDK's target would let all of EventBridge use the key once more.
    for (const to of [queue, deadLetterQueue]) {
      to.addToResourcePolicy(
        new PolicyStatement({
          principals: [new ServicePrincipal('events.amazonaws.com')],
          actions: ['sqs:SendMessage'],
          resources: [to.queueArn],
          conditions: { ArnEquals: { 'aws:SourceArn': rule.ruleArn } },
        }),
      );
    }
  }

  private mailer(
    { configuration, key, exports, monitoring: { topic } }: FailureMailsProps,
    queue: IQueue,
  ): StepFunction {
    const stack = Stack.of(this);
    const mailer = new StepFunction(stack, MAILER, {
      configuration,
      key,
      memorySize: 256,
      // Shorter than the messages stay invisible: no other call has them meanwhile.
      timeout: Duration.minutes(4),
      environment: {
        QUEUE_URL: queue.queueUrl,
        TOPIC_ARN: topic.topicArn,
        BUCKET_NAME: exports.bucket.bucketName,
        URL_SUFFIX: stack.urlSuffix,
      },
    });
    const allow = (actions: string[], resource: string) =>
      mailer.role.addToPolicy(new PolicyStatement({ actions, resources: [resource] }));
    allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage'], queue.queueArn);
    allow(['sns:Publish'], topic.topicArn);
    key.allow(mailer.role, 'sqs', ['kms:Decrypt']);
    key.allow(mailer.role, 'sns', ['kms:Decrypt', 'kms:GenerateDataKey']);
    exports.allowPointers(mailer.role);
    return mailer;
  }
}
