import { S3Client } from '@aws-sdk/client-s3';
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import type { Context, EventBridgeEvent } from 'aws-lambda';
import { AWS_LIMITS, QUICK_READ_LIMITS } from '../../core/aws/aws-limits.ts';
import { readDeployment, readEnv } from '../../core/aws/env.ts';
import { createLog } from '../../core/log/log.ts';
import { crash, once } from '../../core/step/step.ts';
import { MAILER } from '../../core/step/steps.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { type MailFailedRunsDeps, mailFailedRuns } from './mail-failed-runs.ts';

const log = createLog(MAILER);
const connect = once((): MailFailedRunsDeps => {
  const env = readEnv(process.env, 'DEPLOYMENT', 'TOPIC_ARN', 'BUCKET_NAME');
  const { alarms } = readDeployment(new URL('deployment.json', import.meta.url));
  const sns = new SNSClient(AWS_LIMITS);
  const publish = async (Subject: string, Message: string) => {
    await sns.send(new PublishCommand({ TopicArn: env.TOPIC_ARN, Subject, Message, MessageStructure: 'json' }));
  };
  const bucket = createBucket(new S3Client(QUICK_READ_LIMITS), env.BUCKET_NAME);
  return { deployment: env.DEPLOYMENT, runbookUrl: alarms.runbookUrl, publish, bucket };
});

/**
 * A rule invokes this function for each execution that failed or timed out. After an error, Lambda retries it twice,
 * then sends the event to the queue of undelivered starts.
 */
export async function handler({ detail }: Pick<EventBridgeEvent<string, unknown>, 'detail'>, context: Context) {
  try {
    const { name: execution, error, entity, batch } = await mailFailedRuns(detail, connect());
    log.about({ execution, entity, batch }).info('mailed', { error });
  } catch (error) {
    throw crash(MAILER, error, context.awsRequestId, log);
  }
}
