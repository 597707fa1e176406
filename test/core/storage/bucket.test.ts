import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type Bucket, createBucket, type ObjectPart } from '../../../core/storage/bucket.ts';
import { createUploadBucket } from '../../../core/storage/upload.ts';
import { failureOf } from '../../support/failures.ts';
import { expectTexts } from '../../support/screen.ts';
import { storeForTest } from '../../support/strict-store/strict-store.ts';
import type { StoreOptions } from '../../support/strict-store/types.ts';

async function bucketOn(options: StoreOptions = {}) {
  const store = await storeForTest(options);
  return { ...store, bucket: createBucket(store.client, 'exports') };
}

const MIB = 1024 * 1024;
const elevenMib = () => Readable.from([Buffer.alloc(11 * MIB)]);

async function streamed(bucket: Bucket, part?: ObjectPart): Promise<string> {
  const object = await bucket.stream('k', part);
  if (!object) throw new Error('there is no such object');
  return text(object.chunks);
}

test('putOnce writes an object once, and returns false for a second write', async () => {
  const { bucket } = await bucketOn();

  const written = [await bucket.putOnce('a/b=c/d.json', 'one'), await bucket.putOnce('a/b=c/d.json', 'two')];

  expect(written).toEqual([true, false]);
  expect((await bucket.read('a/b=c/d.json'))?.text).toBe('one');
});

test('replace writes only if the ETag is the one that was read', async () => {
  const { bucket } = await bucketOn();
  await bucket.putOnce('k', 'one');
  const read = await bucket.read('k');

  const replaced = [
    await bucket.replace('k', 'two', read?.etag ?? ''),
    await bucket.replace('k', 'three', read?.etag ?? ''),
  ];

  expect(replaced).toEqual([true, false]);
  expect((await bucket.read('k'))?.text).toBe('two');
});

test('replace returns false if the object was removed', async () => {
  const { bucket } = await bucketOn();

  expect(await bucket.replace('k', 'two', '"as before"')).toBe(false);
  expect(await bucket.read('k')).toBeUndefined();
});

test('read and stream return undefined for a missing object', async () => {
  const { bucket } = await bucketOn();

  expect(await bucket.read('k')).toBeUndefined();
  expect(await bucket.stream('k')).toBeUndefined();
});

test('stream returns any part of an object, and undefined after its end', async () => {
  const { bucket } = await bucketOn();
  await bucket.putOnce('k', '0123456789');

  expect(await bucket.stream('k')).toMatchObject({ bytes: 10, etag: expect.stringMatching(/^"[0-9a-f]{32}"$/) });
  expect(await streamed(bucket)).toBe('0123456789');
  expect(await streamed(bucket, { from: 4 })).toBe('456789');
  expect(await streamed(bucket, { from: 0, to: 4 })).toBe('0123');
  expect(await streamed(bucket, { from: 8, to: 400 })).toBe('89');
  expect(await bucket.stream('k', { from: 10 })).toBeUndefined();
});

test('stream reports StorageConflict if the object has another ETag', async () => {
  const { bucket } = await bucketOn();
  await bucket.putOnce('k', 'one');
  const etag = (await bucket.stream('k'))?.etag;

  expect(await streamed(bucket, { from: 1, etag })).toBe('ne');
  await failureOf(bucket.stream('k', { from: 1, etag: '"other"' }), 'StorageConflict');
});

test.each([
  [403, 'AccessDenied', 'StorageDenied'],
  [403, 'InvalidAccessKeyId', 'StorageDenied'],
  [404, 'NoSuchBucket', 'StorageDenied'],
  [400, 'KMS.DisabledException', 'StorageDenied'],
  [503, 'SlowDown', 'StorageUnavailable'],
  [500, 'InternalError', 'StorageUnavailable'],
  [409, 'ConditionalRequestConflict', 'StorageUnavailable'],
] as const)('%i %s is %s for any operation', async (status, code, name) => {
  const { bucket } = await bucketOn({ faults: () => ({ status, code }) });

  const errors = [
    await failureOf(bucket.putOnce('k', '{}'), name),
    await failureOf(bucket.replace('k', '{}', '"e"'), name),
    await failureOf(bucket.tag('k', 'true'), name),
    await failureOf(bucket.read('k'), name),
    await failureOf(bucket.stream('k'), name),
    await failureOf(bucket.list('k'), name),
  ];

  expect(errors.map(({ message }) => message)).toEqual([
    ...Array.from({ length: 3 }, () => expect.stringMatching(`written \\(${code}\\)`)),
    ...Array.from({ length: 3 }, () => expect.stringMatching(`read \\(${code}\\)`)),
  ]);
});

test('reports StorageUnavailable if the connection breaks during a read', async () => {
  const { bucket, upload } = await bucketOn({ faults: () => ({ breakAfter: 4 }) });
  upload('k', 'x'.repeat(1000));

  await failureOf(bucket.read('k'), 'StorageUnavailable');
  const error = await failureOf(streamed(bucket), 'StorageUnavailable');

  await expectTexts('storage-unavailable', [['a bucket whose connection breaks', error.message]]);
});

test('lists objects over all pages, or up to a limit, and counts every request', async () => {
  const { client, calls, upload } = await storeForTest({ pageSize: 2 });
  const requests = { store: 0 };
  const bucket = createBucket(client, 'exports', requests);
  for (const key of ['results/a', 'results/b', 'results/c', 'others/d']) upload(key, '7 bytes');

  expect(await bucket.list('results/')).toMatchObject([
    { key: 'results/a', bytes: 7 },
    { key: 'results/b', bytes: 7 },
    { key: 'results/c', bytes: 7 },
  ]);
  expect(calls).toHaveLength(2);
  expect(await bucket.list('results/', 2)).toMatchObject([{ key: 'results/a' }, { key: 'results/b' }]);
  expect(calls).toHaveLength(3);
  expect(requests.store).toBe(3);
});

test('reports StorageUnavailable for an answer that is not a listing', async () => {
  const { bucket } = await bucketOn({ faults: () => ({ page: '<html>Sign in</html>' }) });

  await failureOf(bucket.list('results/'), 'StorageUnavailable');
});

test('uploadOnce writes several parts as one object, once', async () => {
  const store = await storeForTest();
  const bucket = createUploadBucket(store.client, 'exports', undefined, 5 * MIB);

  expect(await bucket.uploadOnce('big.jsonl', elevenMib())).toBe(true);
  expect(await bucket.uploadOnce('big.jsonl', Readable.from(['other']))).toBe(false);

  expect(store.object('big.jsonl')?.body.length).toBe(11 * MIB);
});

test.each<[string, string]>([
  ['a web page', '<html><body>Welcome</body></html>'],
  ['another document', '<InitiateMultipartUploadResult><Key>big.jsonl</Key></InitiateMultipartUploadResult>'],
  ['an empty body', ''],
])('sends no part if %s answers the start of an upload', async (_, answer) => {
  const store = await storeForTest({
    faults: ({ operation }) => (operation === 'CreateMultipartUpload' ? { page: answer } : undefined),
  });

  await failureOf(
    createUploadBucket(store.client, 'exports', undefined, 5 * MIB).uploadOnce('big.jsonl', elevenMib()),
    'StorageUnavailable',
  );

  expect(store.keys()).toEqual([]);
  expect(store.calls.filter(({ operation }) => operation !== 'CreateMultipartUpload')).toEqual([]);
});
