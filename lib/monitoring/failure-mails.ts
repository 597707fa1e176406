import { Duration, Stack } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
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

/**
 * Mails each run that failed or timed out: a rule invokes the function MailFailedRuns for it (docs/adr/0018). If that
 * fails, the alarm MailsNotSent fires, and the event goes to the queue of undelivered starts.
 */
export class FailureMails extends Construct {
  constructor(scope: Construct, id: string, props: FailureMailsProps) {
    super(scope, id);
    const { configuration, key, exports, machines, deadLetterQueue, monitoring } = props;
    const { topicArn } = monitoring.topic;
    const stack = Stack.of(this);
    const mailer = new StepFunction(stack, MAILER, {
      configuration,
      key,
      memorySize: 256,
      timeout: Duration.minutes(1),
      deadLetterQueue,
      environment: { TOPIC_ARN: topicArn, BUCKET_NAME: exports.bucket.bucketName },
    });
    mailer.role.addToPolicy(new PolicyStatement({ actions: ['sns:Publish'], resources: [topicArn] }));
    for (const service of ['sns', 'sqs'] as const)
      key.allow(mailer.role, service, ['kms:Decrypt', 'kms:GenerateDataKey']);
    exports.allow(MAILER, mailer.role);
    monitoring.watchMails(mailer.functionName);
    const watched = [machines.export, machines.updates ?? []].flat();
    // A run that a person stopped is not mailed: that person knows, and the alarm ExecutionsAborted informs the others.
    new Rule(this, 'Failed', {
      description: 'Mails executions that failed or timed out',
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: { stateMachineArn: watched.map((machine) => machine.stateMachineArn), status: ['FAILED', 'TIMED_OUT'] },
      },
      targets: [new LambdaFunction(mailer.alias, { deadLetterQueue })],
    });
  }
}
