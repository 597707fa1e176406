import { expect, test } from 'vitest';
import { createLightRead } from '../../../../lambdas/shared/storage/light-read.ts';
import { failureOf } from '../../../support/failures.ts';
import { type Reply, serverFor } from '../../../support/http-server.ts';

const refusal = (status: number, code: string): Reply => ({ status, text: `<Error><Code>${code}</Code></Error>` });

async function reading(reply: Reply) {
  const { url, seen } = await serverFor(['GET /bucket/updates/b1/stop.json', reply]);
  const credentials = async () => ({ accessKeyId: 'a', secretAccessKey: 's' });
  const read = createLightRead({ endpoint: url, region: 'eu-west-1', bucket: 'bucket', credentials });
  return { answer: read('updates/b1/stop.json'), seen };
}

test('an object is read with a signed request', async () => {
  const { answer, seen } = await reading({ text: '{"a":1}', headers: { etag: '"e"' } });

  expect(await answer).toEqual({ text: '{"a":1}', etag: '"e"' });
  expect(seen[0]?.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=a\//);
});

test('what is not there is undefined', async () => {
  const { answer } = await reading(refusal(404, 'NoSuchKey'));

  expect(await answer).toBeUndefined();
});

test('what is forbidden is StorageDenied: an absent flag is not guessed', async () => {
  const { answer } = await reading(refusal(403, 'AccessDenied'));

  const { message } = await failureOf(answer, 'StorageDenied');
  expect(message).toContain('updates/b1/stop.json');
});

test('another refusal is StorageUnavailable', async () => {
  const { answer } = await reading(refusal(400, 'Odd'));

  await failureOf(answer, 'StorageUnavailable');
});
