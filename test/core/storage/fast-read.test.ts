import { expect, test } from 'vitest';
import { createFastRead } from '../../../core/storage/fast-read.ts';
import { failureOf } from '../../support/failures.ts';
import { type Exchange, type Reply, serverFor } from '../../support/http-server.ts';

const refusal = (status: number, code: string): Reply => ({ status, text: `<Error><Code>${code}</Code></Error>` });

async function reading(...replies: Reply[]) {
  const { url, seen } = await serverFor(
    ...replies.map((reply): Exchange => ['GET /bucket/updates/b1/stop.json', reply]),
  );
  const credentials = async () => ({ accessKeyId: 'a', secretAccessKey: 's' });
  const read = createFastRead({ endpoint: url, region: 'eu-west-1', bucket: 'bucket', credentials });
  return { answer: read('updates/b1/stop.json'), seen };
}

test('reads an object with a signed request', async () => {
  const { answer, seen } = await reading({ text: '{"a":1}', headers: { etag: '"e"' } });

  expect(await answer).toEqual({ text: '{"a":1}', etag: '"e"' });
  expect(seen[0]?.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=a\//);
});

test('returns undefined for a missing object', async () => {
  const { answer } = await reading(refusal(404, 'NoSuchKey'));

  expect(await answer).toBeUndefined();
});

test('reports StorageDenied for a 403, not a missing object', async () => {
  const { answer } = await reading(refusal(403, 'AccessDenied'));

  const { message } = await failureOf(answer, 'StorageDenied');
  expect(message).toContain('updates/b1/stop.json');
});

test('reports StorageUnavailable for another refusal', async () => {
  const { answer } = await reading(refusal(400, 'Odd'));

  await failureOf(answer, 'StorageUnavailable');
});

test('returns an object that looks like a refusal', async () => {
  const { answer } = await reading({ text: '<Error>stop</Error>', headers: { etag: '"e"' } });

  expect(await answer).toEqual({ text: '<Error>stop</Error>', etag: '"e"' });
});

test('sends at most two requests if the bucket answers 503', async () => {
  const { answer, seen } = await reading(refusal(503, 'SlowDown'), refusal(503, 'SlowDown'));

  await failureOf(answer, 'StorageUnavailable');
  expect(seen).toHaveLength(2);
});
