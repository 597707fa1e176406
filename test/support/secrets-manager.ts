import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { servedOnLoopback } from './loopback.ts';

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

/**
 * Secrets Manager with these values. `trouble` may replace the answer to an operation by an error. `events` records
 * every operation that was done, as `GetSecretValue tokens`.
 */
export async function secretsManager(
  values: Record<string, string>,
  {
    events = [],
    trouble = () => undefined,
  }: { events?: string[]; trouble?: (operation: string) => string | undefined } = {},
) {
  const endpoint = await servedOnLoopback((request, body, response) => {
    const operation = String(request.headers['x-amz-target']).split('.')[1] ?? '';
    const { SecretId, SecretString } = JSON.parse(body.toString()) as { SecretId: string; SecretString?: string };
    const type = trouble(operation) ?? (SecretId in values ? undefined : 'ResourceNotFoundException');
    events.push(`${operation} ${SecretId}`);
    if (!type && operation === 'PutSecretValue') values[SecretId] = SecretString ?? '';
    const answer = type ? { __type: type, message: 'refused' } : { Name: SecretId, SecretString: values[SecretId] };
    response.writeHead(type ? 400 : 200, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(JSON.stringify(answer));
  });
  const client = new SecretsManagerClient({
    endpoint,
    region: 'eu-west-1',
    credentials: CREDENTIALS,
    maxAttempts: 1,
  });
  return { client, values, events };
}
