import { DeleteMessageBatchCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { MailFailedRunsDeps, Message } from './mail-failed-runs.ts';

/** As many as fit into one invocation with time to spare. */
const MOST_MESSAGES = 1000;

/** The queue of the ends of runs. */
export function queueOf(sqs: SQSClient, QueueUrl: string): Pick<MailFailedRunsDeps, 'receive' | 'remove'> {
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
      const refused: string[] = [];
      for (let from = 0; from < messages.length; from += 10) {
        const Entries = messages
          .slice(from, from + 10)
          .map(({ receipt }, index) => ({ Id: String(index), ReceiptHandle: receipt }));
        const { Failed = [] } = await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
        refused.push(...Failed.map(({ Code = 'no code' }) => Code));
      }
      if (refused.length === 0) return;
      const codes = [...new Set(refused)].join(', ');
      throw new Error(`SQS did not delete ${refused.length} messages (${codes}): their runs are mailed again.`);
    },
  };
}
