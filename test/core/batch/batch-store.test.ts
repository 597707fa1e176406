import { test, vi } from 'vitest';
import { quickBatchStoreFromEnv } from '../../../core/batch/batch-store.ts';
import { failureOf } from '../../support/failures.ts';
import { type Exchange, serverFor } from '../../support/http-server.ts';

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
