import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SQSClient } from '@aws-sdk/client-sqs';
import { expect, onTestFinished, test } from 'vitest';
import { queueOf } from '../../../lambdas/mail-failed-runs/queue.ts';

/** A queue on loopback that refuses to delete one receipt. */
async function queue() {
  const deleted: string[] = [];
  const server = createServer(async (request, response) => {
    const { Entries } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const [Failed, Successful] = [true, false].map((refused) =>
      Entries.filter((entry: { ReceiptHandle: string }) => (entry.ReceiptHandle === 'stuck') === refused),
    );
    deleted.push(...Successful.map((entry: { ReceiptHandle: string }) => entry.ReceiptHandle));
    const failed = Failed.map(({ Id }: { Id: string }) => ({ Id, Code: 'InternalError', SenderFault: false }));
    response.setHeader('content-type', 'application/x-amz-json-1.0');
    response.end(JSON.stringify({ Successful: Successful.map(({ Id }: { Id: string }) => ({ Id })), Failed: failed }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const client = new SQSClient({ endpoint, region: 'us-east-1', credentials });
  return { ...queueOf(client, `${endpoint}/1/queue`), deleted };
}

test('messages that SQS does not delete are an error, once all others are deleted', async () => {
  const { remove, deleted } = await queue();
  const receipts = ['stuck', ...Array.from({ length: 12 }, (_, index) => `receipt-${index}`)];

  const removing = remove(receipts.map((receipt) => ({ body: '', receipt })));

  await expect(removing).rejects.toThrow('SQS did not delete 1 messages (InternalError)');
  expect(deleted).toHaveLength(12);
});
