import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { FakeLedger } from '../../oauth/support/fake-ledger.ts';
import { FakeSecrets } from '../../oauth/support/fake-secrets.ts';
import type { Answer, Request } from './front.ts';

type Command = new (input: never) => object;

const COMMANDS: Record<string, Command> = {
  'secretsmanager.GetSecretValue': GetSecretValueCommand,
  'secretsmanager.PutSecretValue': PutSecretValueCommand,
  'DynamoDB_20120810.GetItem': GetItemCommand,
  'DynamoDB_20120810.UpdateItem': UpdateItemCommand,
};

/** The key of the hashed columns of tables. */
export const HASH_KEY = 'k4y-of-the-hashed-columns-of-all-tables';

/** Secrets Manager and DynamoDB, with the conditions and versions of AWS, by what is on the wire. */
export function awsJson() {
  const now = async () => undefined;
  const secrets = new FakeSecrets(() => new Date(), now);
  const ledger = new FakeLedger(now);
  return {
    secrets,
    ledger,
    answer: async ({ headers, body }: Request): Promise<Answer> => {
      const target = String(headers['x-amz-target']);
      const Of = COMMANDS[target];
      if (!Of) throw new Error(`${target} is not known`);
      const input = JSON.parse(body.toString());
      if (input.SecretId === 'hash-key') return json(200, { SecretString: HASH_KEY });
      const client = target.startsWith('Dynamo') ? ledger.client : secrets.client;
      const send = client.send as (command: object) => Promise<object>;
      return send(new Of(input as never)).then(
        (answer) => json(200, answer),
        (error: Error) => json(400, { ...error, __type: error.name, message: '' }),
      );
    },
  };
}

function json(status: number, value: object): Answer {
  const headers = { 'content-type': 'application/x-amz-json-1.1' };
  return { status, headers, body: Buffer.from(JSON.stringify(value)) };
}
