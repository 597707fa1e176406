import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { FakeSecrets } from '../../oauth/support/fake-secrets.ts';
import { FakeTable } from '../../oauth/support/fake-table.ts';

type Command = new (input: never) => object;

const COMMANDS: Record<string, Command> = {
  'secretsmanager.GetSecretValue': GetSecretValueCommand,
  'secretsmanager.PutSecretValue': PutSecretValueCommand,
  'DynamoDB_20120810.GetItem': GetItemCommand,
  'DynamoDB_20120810.UpdateItem': UpdateItemCommand,
};

/** Secrets Manager and DynamoDB on loopback, with the conditions and versions of AWS; real clients speak to it. */
export async function startAwsJson() {
  const now = async () => undefined;
  const [secrets, table] = [new FakeSecrets(() => new Date(), now), new FakeTable(now)];
  const server = createServer({ keepAliveTimeout: 0 }, async (request, response) => {
    const target = String(request.headers['x-amz-target']);
    const input = JSON.parse((await buffer(request)).toString());
    const Of = COMMANDS[target];
    if (!Of) throw new Error(`${target} is not known`);
    const command = new Of(input as never);
    const client = target.startsWith('Dynamo') ? table.client : secrets.client;
    const { status, body } = await (client.send as (command: unknown) => Promise<object>)(command).then(
      (answer) => ({ status: 200, body: answer }),
      (error: Error) => ({ status: 400, body: { ...error, __type: error.name, message: '' } }),
    );
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    secrets,
    table,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
