import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, test } from 'vitest';
import type { RunErrorName } from '../../../core/errors.ts';
import { parseSecret, readOAuthClient, tokensSchema, writeSecret } from '../../../core/oauth/secrets.ts';
import { refused } from '../../cli/support/cloud/answers.ts';
import { aws } from '../../cli/support/cloud/cloud.ts';
import { grant } from '../../cli/support/cloud/grant.ts';
import { CANARY } from '../../support/builders.ts';
import { failureOf } from '../../support/failures.ts';
import { servedOnLoopback } from '../../support/loopback.ts';
import { expectTexts } from '../../support/screen.ts';

const SECRET = 'arn:s';

/** Secrets Manager with a value of the secret, or with an error in answer to every call. */
async function secretsManager(s?: string, trouble?: string): Promise<SecretsManagerClient> {
  const cloud = await aws({ ...(trouble && { '*': refused(trouble) }) }, grant(s === undefined ? {} : { s }));
  return cloud.client(SecretsManagerClient);
}

test('readOAuthClient returns what writeSecret wrote', async () => {
  const client = await secretsManager('');

  await writeSecret(client, SECRET, { clientId: 'c', clientSecret: CANARY });

  expect(await readOAuthClient(client, SECRET)).toEqual({ clientId: 'c', clientSecret: CANARY });
});

test('a secret with only the id of a client has an empty client secret', async () => {
  const client = await secretsManager('{"clientId":"c"}');

  expect(await readOAuthClient(client, SECRET)).toEqual({ clientId: 'c', clientSecret: '' });
});

const UNAVAILABLE = ['InternalServiceError', 'DecryptionFailure', 'ThrottlingException'];

/** The value of the secret, or the answer of AWS, and how reading ends. */
const READINGS: [what: string, value: string | undefined, error: RunErrorName, trouble?: string][] = [
  ['is missing', undefined, 'ConfigInvalid'],
  ['is empty', '', 'ConfigInvalid'],
  ['is not JSON', CANARY, 'ConfigInvalid'],
  ['is half of a JSON text', `{"refreshToken":"${CANARY}`, 'ConfigInvalid'],
  ['is a JSON string', `"${CANARY}"`, 'ConfigInvalid'],
  ['has another shape', JSON.stringify({ clientId: 7, x: CANARY }), 'ConfigInvalid'],
  ['may not be read', CANARY, 'ConfigInvalid', 'AccessDeniedException'],
  ['is scheduled for deletion', CANARY, 'ConfigInvalid', 'InvalidRequestException'],
  ...UNAVAILABLE.map((type): (typeof READINGS)[number] => [type, CANARY, 'TokenStoreUnavailable', type]),
];

test('each secret that cannot be read or written has an error with advice, which quotes no value', async () => {
  const messages: [string, string][] = [];
  for (const [what, value, error, trouble] of READINGS) {
    const client = await secretsManager(value, trouble);
    messages.push([`reading: ${what}`, (await failureOf(readOAuthClient(client, SECRET), error)).message]);
    if (trouble === undefined || trouble === 'InvalidRequestException') continue;
    const writing = writeSecret(client, SECRET, { clientId: CANARY, clientSecret: CANARY });
    messages.push([`writing: ${what}`, (await failureOf(writing, error)).message]);
  }

  await expectTexts('secret-errors', messages);
  expect(messages.join()).not.toContain(CANARY);
});

test('parseSecret names every wrong field of the grant', () => {
  const value = JSON.stringify({ refreshToken: 7, accessToken: CANARY, expiresAt: CANARY, obtainedAt: CANARY });

  expect(() => parseSecret('s', value, tokensSchema)).toThrow(': refreshToken, expiresAt, obtainedAt, scope');
});

/** A client whose requests this function answers. It repeats requests as the SDK does by default. */
async function repeatingClient(serve: Parameters<typeof servedOnLoopback>[0]): Promise<SecretsManagerClient> {
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  return new SecretsManagerClient({ endpoint: await servedOnLoopback(serve), region: 'eu-west-1', credentials });
}

test('the SDK repeats a write whose answer is lost, with the same VersionId', async () => {
  const versionIds: (string | undefined)[] = [];
  const client = await repeatingClient((_, body, response) => {
    versionIds.push((JSON.parse(String(body)) as Record<string, string>).ClientRequestToken);
    if (versionIds.length === 1) return response.destroy();
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1' });
    return response.end('{}');
  });

  expect(await writeSecret(client, 's', { clientId: 'c', clientSecret: '' }, { versionId: 'next' })).toBe(true);

  expect(versionIds).toEqual(['next', 'next']);
});

test('an aborted write ends with TokenStoreUnavailable, and the SDK does not repeat it', async () => {
  let requests = 0;
  const abort = new AbortController();
  const client = await repeatingClient(() => {
    requests += 1;
    abort.abort();
  });

  const writing = writeSecret(client, 's', { clientId: 'c', clientSecret: '' }, { abortSignal: abort.signal });

  expect(await failureOf(writing, 'TokenStoreUnavailable')).toMatchObject({ transient: true });
  expect(requests).toBe(1);
});
