import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { DeleteMessageBatchCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Context, ScheduledEvent } from 'aws-lambda';
import { AWS_LIMITS } from '../../core/aws/aws-limits.ts';
import { readDeployment, readEnv } from '../../core/config/env.ts';
import { createLog } from '../../core/log/log.ts';
import { crash } from '../../core/step/crash.ts';
import { once } from '../../core/step/invocation.ts';
import { MAILER } from '../../core/step/steps.ts';
import { fastReadFromEnv } from '../../core/storage/compose.ts';
import { type MailFailedRunsDeps, type Message, mailFailedRuns } from './mail-failed-runs.ts';

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

/** As many as fit into one invocation with time to spare. */
const MOST_MESSAGES = 1000;

function queueOf(sqs: SQSClient, QueueUrl: string): Pick<MailFailedRunsDeps, 'receive' | 'remove'> {
  return {
    receive: async () => {
      const found: Message[] = [];
      for (;;) {
        // With a wait SQS asks all of its servers, without one some of them.
        const ask = new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 });
        const { Messages = [] } = await sqs.send(ask);
        found.push(...Messages.map(({ Body: body, ReceiptHandle: receipt = '' }) => ({ body, receipt })));
        if (Messages.length === 0 || found.length >= MOST_MESSAGES) return found;
      }
    },
    remove: async (messages) => {
      for (let from = 0; from < messages.length; from += 10) {
        const Entries = messages
          .slice(from, from + 10)
          .map(({ receipt }, index) => ({ Id: String(index), ReceiptHandle: receipt }));
        await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
      }
    },
  };
}

/** Invoked by a rule every quarter of an hour, whose `time` is now. Leaves mails in the topic of the alarms. */
export async function handler({ time }: Pick<ScheduledEvent, 'time'>, context: Context): Promise<void> {
  try {
    const mails = await mailFailedRuns({ ...connect(), now: new Date(time) });
    if (mails > 0) log.info('mailed', { lines: mails });
  } catch (error) {
    throw crash(MAILER, error, context.awsRequestId, log);
  }
}
