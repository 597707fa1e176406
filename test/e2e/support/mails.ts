import { SubscribeCommand } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import type { Deployed } from './deployed.ts';

/**
 * Subscribes to the topic of the alarms. SNS sends the text of a mail to a queue as JSON.
 * @returns all mails so far
 */
export async function mailbox({ name, target }: Deployed): Promise<() => Promise<{ subject: string; text: string }[]>> {
  const { sns, sqs, AlarmTopicArn: TopicArn } = target;
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: `${name}-mailbox` }));
  const look = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] });
  const Endpoint = (await sqs.send(look)).Attributes?.QueueArn;
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint }));
  const come: { subject: string; text: string }[] = [];
  return async () => {
    const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
    for (const { Body = '', ReceiptHandle } of Messages) {
      const { Subject: subject, Message: text } = JSON.parse(Body);
      come.push({ subject, text });
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    }
    return come;
  };
}
