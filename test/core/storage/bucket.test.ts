import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { type Bucket, createBucket, type ObjectPart } from '../../../core/storage/bucket.ts';
import { createUploadBucket } from '../../../core/storage/upload.ts';
import { s3, s3Error } from '../../support/aws-servers.ts';
import { failureOf } from '../../support/failures.ts';

async function bucketOn(trouble?: Parameters<typeof s3>[0]) {
  const server = await s3(trouble);
  return { ...server, bucket: createBucket(server.client, 'exports') };
}

const MIB = 1024 * 1024;
const elevenMib = () => Readable.from([Buffer.alloc(11 * MIB)]);

async function streamed(bucket: Bucket, part?: ObjectPart): Promise<string> {
  const object = await bucket.stream('k', part);
  if (!object) throw new Error('there is no such object');
  return text(object.chunks);
}

test('an object is written once: a second write finds it standing and changes nothing', async () => {
  const { bucket } = await bucketOn();

  const written = [await bucket.putOnce('a/b=c/d.json', 'one'), await bucket.putOnce('a/b=c/d.json', 'two')];

  expect(written).toEqual([true, false]);
  expect((await bucket.read('a/b=c/d.json'))?.text).toBe('one');
});

test('an object is replaced only as it was read', async () => {
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

test('an object that was removed meanwhile is not replaced, as one that is another by now', async () => {
  const { bucket } = await bucketOn();

  expect(await bucket.replace('k', 'two', '"as it was read"')).toBe(false);
  expect(await bucket.read('k')).toBeUndefined();
});

test('what is not there is undefined, for reading and for streaming', async () => {
  const { bucket } = await bucketOn();

  expect(await bucket.read('k')).toBeUndefined();
  expect(await bucket.stream('k')).toBeUndefined();
});

test('any part of an object can be streamed, and there is nothing behind its end', async () => {
  const { bucket } = await bucketOn();
  await bucket.putOnce('k', '0123456789');

  expect(await bucket.stream('k')).toMatchObject({ bytes: 10, etag: expect.stringMatching(/^"[0-9a-f]{32}"$/) });
  expect(await streamed(bucket)).toBe('0123456789');
  expect(await streamed(bucket, { from: 4 })).toBe('456789');
  expect(await streamed(bucket, { from: 0, to: 4 })).toBe('0123');
  expect(await streamed(bucket, { from: 8, to: 400 })).toBe('89');
  expect(await bucket.stream('k', { from: 10 })).toBeUndefined();
});

test('an object that is another than before is a conflict, and nothing of it is given', async () => {
  const { bucket } = await bucketOn();
  await bucket.putOnce('k', 'one');
  const etag = (await bucket.stream('k'))?.etag;

  expect(await streamed(bucket, { from: 1, etag })).toBe('ne');
  await failureOf(bucket.stream('k', { from: 1, etag: '"other"' }), 'StorageConflict');
});

test.each([
  [403, 'AccessDenied', 'StorageDenied'],
  [404, 'NoSuchBucket', 'StorageDenied'],
  [400, 'KMS.DisabledException', 'StorageDenied'],
  [503, 'SlowDown', 'StorageUnavailable'],
  [500, 'InternalError', 'StorageUnavailable'],
  [409, 'ConditionalRequestConflict', 'StorageUnavailable'],
] as const)('%i %s is %s, whatever was asked', async (status, code, name) => {
  const { bucket } = await bucketOn((_, response) => {
    s3Error(response, status, code);
    return true;
  });

  const errors = [
    await failureOf(bucket.putOnce('k', '{}'), name),
    await failureOf(bucket.replace('k', '{}', '"e"'), name),
    await failureOf(bucket.tag('k', 'published', 'true'), name),
    await failureOf(bucket.read('k'), name),
    await failureOf(bucket.stream('k'), name),
    await failureOf(bucket.list('k'), name),
  ];

  expect(errors.map(({ message }) => message)).toEqual([
    ...Array.from({ length: 3 }, () => expect.stringContaining(`did not let k be written (${code}).`)),
    ...Array.from({ length: 3 }, () => expect.stringContaining(`did not let k be read (${code}).`)),
  ]);
});

test('a connection that breaks in the middle of an object is the trouble of the bucket, not a crash', async () => {
  const { bucket } = await bucketOn(({ operation }, response) => {
    if (operation !== 'GetObject') return false;
    response.writeHead(200, { etag: '"e"', 'content-length': '1000' });
    response.write('part', () => response.destroy());
    return true;
  });

  await failureOf(bucket.read('k'), 'StorageUnavailable');
  const error = await failureOf(streamed(bucket), 'StorageUnavailable');

  expect(error.message).toBe('The bucket did not let k be read (ECONNRESET).');
});

/** A client that lists `results/` in these pages. */
function listing(pages: string[][], asked: string[]) {
  return ({ operation }: { operation: string }, response: ServerResponse) => {
    asked.push(operation);
    const keys = pages.shift() ?? [];
    const contents = keys.map((key) => `<Contents><Key>${key}</Key><Size>7</Size></Contents>`).join('');
    const more = pages.length > 0;
    const next = `<IsTruncated>${more}</IsTruncated>${more ? '<NextContinuationToken>more</NextContinuationToken>' : ''}`;
    response.writeHead(200, { 'content-type': 'application/xml' });
    response.end(`<?xml version="1.0"?><ListBucketResult>${contents}${next}</ListBucketResult>`);
    return true;
  };
}

test('objects are listed over all pages, or up to a number', async () => {
  const all = await bucketOn(listing([['a', 'b'], ['c']], []));
  expect(await all.bucket.list('results/')).toMatchObject([
    { key: 'a', bytes: 7 },
    { key: 'b', bytes: 7 },
    { key: 'c', bytes: 7 },
  ]);

  const asked: string[] = [];
  const some = await bucketOn(listing([['a', 'b'], ['c']], asked));
  expect(await some.bucket.list('results/', 2)).toMatchObject([{ key: 'a' }, { key: 'b' }]);
  expect(asked).toHaveLength(1);
});

test('what is no listing is the trouble of the bucket, not an empty listing', async () => {
  const { bucket } = await bucketOn((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    return true;
  });

  await failureOf(bucket.list('results/'), 'StorageUnavailable');
});

test('every request is counted, each page of a list among them', async () => {
  let requests = 0;
  const { client } = await s3(listing([['a'], ['b']], []));
  const bucket = createBucket(client, 'exports', () => {
    requests += 1;
  });

  await bucket.list('results/');

  expect(requests).toBe(2);
});

test('an upload of several parts appears as one object, once', async () => {
  const { client, objects } = await s3();
  const bucket = createUploadBucket(client, 'exports', undefined, 5 * MIB);

  expect(await bucket.uploadOnce('big.jsonl', elevenMib())).toBe(true);
  expect(await bucket.uploadOnce('big.jsonl', Readable.from(['other']))).toBe(false);

  expect(objects.get('big.jsonl')?.body.length).toBe(11 * MIB);
});

test.each<[string, string]>([
  ['a page', '<html><body>Welcome</body></html>'],
  ['another document', '<InitiateMultipartUploadResult><Key>big.jsonl</Key></InitiateMultipartUploadResult>'],
  ['nothing', ''],
])('where %s answers the begin of an upload, no part is sent: S3 would take it for the object', async (_, answer) => {
  const { client, objects, operations } = await s3(({ operation }, response) => {
    if (operation !== 'CreateMultipartUpload') return undefined;
    response.end(answer);
    return true;
  });

  await failureOf(
    createUploadBucket(client, 'exports', undefined, 5 * MIB).uploadOnce('big.jsonl', elevenMib()),
    'StorageUnavailable',
  );

  expect(objects.size).toBe(0);
  expect(operations.filter((operation) => !operation.startsWith('CreateMultipartUpload'))).toEqual([]);
});
