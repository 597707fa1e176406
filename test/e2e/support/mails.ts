import { PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import { SubscribeCommand } from '@aws-sdk/client-sns';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
} from '@aws-sdk/client-sqs';
import { documentedExecutionPattern } from '../../support/event-pattern.ts';
import type { Deployed } from './deployed.ts';

/** A queue and its messages, from any sender. */
async function queueNamed({ target: { sqs } }: Deployed, QueueName: string) {
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName }));
  const look = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] });
  const arn = (await sqs.send(look)).Attributes?.QueueArn ?? '';
  const come: string[] = [];
  return {
    arn,
    /** All messages so far. */
    read: async () => {
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
      for (const { Body = '', ReceiptHandle } of Messages) {
        come.push(Body);
        await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      }
      return come;
    },
  };
}

/** Subscribes to the topic of the alarms. SNS sends the text of a mail to a queue as JSON. */
export async function mailbox(system: Deployed) {
  const { sns, AlarmTopicArn: TopicArn } = system.target;
  const queue = await queueNamed(system, `${system.name}-mailbox`);
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: 'sqs', Endpoint: queue.arn }));
  return {
    mails: async (): Promise<{ subject: string; text: string }[]> =>
      (await queue.read()).map((body) => {
        const { Subject: subject, Message: text } = JSON.parse(body);
        return { subject, text };
      }),
  };
}

/** Collects the ends of executions that a rule with the documented pattern passes on: `NAME STATUS`. */
export async function documentedEnds(system: Deployed): Promise<() => Promise<string[]>> {
  const { events, StateMachineArn } = system.target;
  const Name = `${system.name}-ended`;
  const queue = await queueNamed(system, Name);
  await events.send(new PutRuleCommand({ Name, EventPattern: documentedExecutionPattern(StateMachineArn) }));
  await events.send(new PutTargetsCommand({ Rule: Name, Targets: [{ Id: Name, Arn: queue.arn }] }));
  return async () =>
    (await queue.read()).map((body) => {
      const { name, status } = JSON.parse(body).detail;
      return `${name} ${status}`;
    });
}
