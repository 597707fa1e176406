import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context, ScheduledEvent } from 'aws-lambda';
import { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { readDeployment, readEnv } from '../../core/aws/env.ts';
import { createLog } from '../../core/log/log.ts';
import { crash } from '../../core/step/crash.ts';
import { once } from '../../core/step/invocation.ts';
import { MAILER } from '../../core/step/steps.ts';
import { fastReadFromEnv } from '../../core/storage/compose.ts';
import { type MailFailedRunsDeps, mailFailedRuns } from './mail-failed-runs.ts';
import { queueOf } from './queue.ts';

const log = createLog(MAILER);
const connect = once((): Omit<MailFailedRunsDeps, 'now'> => {
  const env = readEnv(process.env, 'DEPLOYMENT', 'QUEUE_URL', 'TOPIC_ARN');
  const { alarms } = readDeployment(new URL('deployment.json', import.meta.url));
  const sns = new SNSClient(AWS_LIMITS);
  const publish = async (Subject: string, Message: string) => {
    await sns.send(new PublishCommand({ TopicArn: env.TOPIC_ARN, Subject, Message, MessageStructure: 'json' }));
  };
  const queue = queueOf(new SQSClient(AWS_LIMITS), env.QUEUE_URL);
  const bucket = { read: fastReadFromEnv() };
  return { deployment: env.DEPLOYMENT, runbookUrl: alarms.runbookUrl, publish, bucket, ...queue };
});

/** Invoked by a rule every quarter of an hour, whose `time` is now. Leaves mails in the topic of the alarms. */
export async function handler({ time }: Pick<ScheduledEvent, 'time'>, context: Context): Promise<void> {
  try {
    const errors = await mailFailedRuns({ ...connect(), now: new Date(time) });
    for (const error of errors) log.info('mailed', { error });
  } catch (error) {
    throw crash(MAILER, error, context.awsRequestId, log);
  }
}
