import { expect, test, vi } from 'vitest';
import { quickBatchStoreFromEnv, readRecords } from '../../../core/batch/batch-store.ts';
import { createBucket } from '../../../core/storage/bucket.ts';
import { batch, etagOf, inputOf, KEYS } from '../../support/batches.ts';
import { failureOf } from '../../support/failures.ts';
import { type Exchange, serverFor } from '../../support/http-server.ts';
import { storeForTest } from '../../support/strict-store/strict-store.ts';
import type { FaultScript } from '../../support/strict-store/types.ts';

test('the read before a line is sent twice at most, because lines wait for it', async () => {
  const busy: Exchange = [
    'GET /bucket/updates/b1/stop.json?x-id=GetObject',
    { status: 503, text: '<Error><Code>SlowDown</Code></Error>' },
  ];
  const { url } = await serverFor(busy, busy);
  const place = { AWS_ENDPOINT_URL_S3: url, AWS_REGION: 'eu-west-1', DEPLOYMENT: 'test', BUCKET_NAME: 'bucket' };
  const credentials = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' };
  for (const [name, value] of Object.entries({ ...place, ...credentials })) vi.stubEnv(name, value);

  await failureOf(quickBatchStoreFromEnv().read('updates/b1/stop.json'), 'StorageUnavailable');
});

const INPUT = inputOf(3);
const LINE_BYTES = INPUT.length / 3;

/** The line numbers of the second and third record. */
async function linesRead(faults: FaultScript): Promise<number[]> {
  const bucket = await storeForTest({ faults });
  bucket.upload(KEYS.input, INPUT);
  const chunk = { firstLine: 2, from: LINE_BYTES, to: INPUT.length };
  const records = await readRecords(createBucket(bucket.client, 'exports'), batch(INPUT), chunk);
  return records.map(({ line }) => line);
}

test('reads exactly the requested bytes of the validated version', async () => {
  const asked: unknown[] = [];
  const lines = await linesRead(({ headers }) => {
    asked.push([headers.range, headers['if-match']]);
    return undefined;
  });

  expect(lines).toEqual([2, 3]);
  expect(asked).toEqual([[`bytes=${LINE_BYTES}-${INPUT.length - 1}`, etagOf(INPUT)]]);
});

test.each([
  ['changed', 412, 'PreconditionFailed', 'StorageConflict'],
  ['deleted', 404, 'NoSuchKey', 'StorageConflict'],
  ['forbidden', 403, 'AccessDenied', 'StorageDenied'],
  ['temporarily unavailable', 503, 'SlowDown', 'StorageUnavailable'],
] as const)('reports an error when the input is %s', async (_, status, code, name) => {
  const { message } = await failureOf(
    linesRead(() => ({ status, code })),
    name,
  );

  if (name === 'StorageConflict') expect(message).toContain(KEYS.input);
});
