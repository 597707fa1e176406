import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import {
  CompleteMultipartUploadCommand,
  type CompleteMultipartUploadCommandInput,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { base64Crc32 } from '../support/strict-store/operations.ts';
import { clientOf, type StoreOptions, storeForTest } from '../support/strict-store/strict-store.ts';

/**
 * Tests the strict store, a test double: the SDK's own client, which works on AWS, must work here, too. The faults of its
 * script are tested by store-trouble.slow.test.ts, which counts the calls that each one causes.
 */

const PART = Buffer.alloc(70_000, 'abcdefghij');
const LAST = Buffer.from('the end\n');
const WHOLE = Buffer.concat([PART, PART, LAST]);
const AT = { Bucket: 'exports', Key: 'run-1/file.csv' };

const storeAndClient = (options: StoreOptions = {}) => storeForTest({ minPartBytes: 65_536, ...options });

/** An upload with three parts. One part has its checksum in a header, one in a trailer. */
async function uploaded(client: S3Client) {
  const made = { ...AT, ChecksumAlgorithm: 'CRC32', ChecksumType: 'FULL_OBJECT' } as const;
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(made));
  const bodies = [PART, Readable.from([PART.subarray(0, 9_000), PART.subarray(9_000)]), LAST];
  for (const [index, Body] of bodies.entries()) {
    const length = Body instanceof Readable ? { ContentLength: PART.length } : {};
    const part = { ...AT, UploadId, PartNumber: index + 1, Body, ChecksumAlgorithm: 'CRC32', ...length } as const;
    await client.send(new UploadPartCommand(part));
  }
  const { Parts = [] } = await client.send(new ListPartsCommand({ ...AT, UploadId }));
  const MultipartUpload = { Parts: Parts.map(({ PartNumber, ETag }) => ({ PartNumber, ETag })) };
  const right: CompleteMultipartUploadCommandInput = {
    ...AT,
    UploadId,
    MultipartUpload,
    ChecksumCRC32: base64Crc32(crc32(WHOLE)),
    ChecksumType: 'FULL_OBJECT',
    MpuObjectSize: WHOLE.length,
    IfNoneMatch: '*',
  };
  const complete = (change: Partial<CompleteMultipartUploadCommandInput> = {}) =>
    client.send(new CompleteMultipartUploadCommand({ ...right, ...change })).then(
      () => 'completed',
      (error: Error) => error.name,
    );
  return { Parts, complete };
}

test('accepts a multipart upload of the SDK with a full-object CRC32, in headers and trailers', async () => {
  const { client, ...store } = await storeAndClient();

  const { Parts, complete } = await uploaded(client);

  expect(Parts.map(({ Size, ChecksumCRC32 }) => [Size, ChecksumCRC32])).toEqual(
    [PART, PART, LAST].map((part) => [part.length, base64Crc32(crc32(part))]),
  );
  expect(await complete()).toBe('completed');
  const head = await client.send(new HeadObjectCommand({ ...AT, ChecksumMode: 'ENABLED' }));
  expect(head).toMatchObject({ ContentLength: WHOLE.length, ChecksumType: 'FULL_OBJECT' });
  expect(head.ChecksumCRC32).toBe(base64Crc32(crc32(WHOLE)));
  expect(store.object(AT.Key)?.body.equals(WHOLE)).toBe(true);
  expect(store.uploads()).toEqual([]);
});

test('refuses a wrong CompleteMultipartUpload with the errors of AWS, and then completes a right one', async () => {
  const { client, ...store } = await storeAndClient();
  const { Parts, complete } = await uploaded(client);
  const [first, second] = Parts;
  const wrongCrc = base64Crc32(crc32(WHOLE) ^ 1);

  expect(await complete({ ChecksumCRC32: wrongCrc })).toBe('BadDigest');
  expect(await complete({ ChecksumType: undefined })).toBe('BadDigest');
  expect(await complete({ ChecksumType: 'COMPOSITE' })).toBe('InvalidRequest');
  expect(await complete({ MpuObjectSize: WHOLE.length + 1 })).toBe('InvalidRequest');
  expect(await complete({ MultipartUpload: { Parts: [] } })).toBe('InvalidRequest');
  expect(await complete({ MultipartUpload: { Parts: [{ PartNumber: 9, ETag: '"x"' }] } })).toBe('InvalidPart');
  expect(await complete({ MultipartUpload: { Parts: [{ ...first, ETag: '"x"' }] } })).toBe('InvalidPart');
  expect(await complete({ MultipartUpload: { Parts: [{ ...first, ChecksumCRC32: wrongCrc }] } })).toBe('InvalidPart');
  expect(await complete({ MultipartUpload: { Parts: [...(second ? [second] : []), ...Parts] } })).toBe(
    'InvalidPartOrder',
  );
  expect(await complete({ UploadId: 'other' })).toBe('NoSuchUpload');
  store.settings.minPartBytes = PART.length + 1;
  expect(await complete()).toBe('EntityTooSmall');
  store.settings.minPartBytes = PART.length;
  expect(await complete()).toBe('completed');
  expect(await complete()).toBe('NoSuchUpload');
  store.settings.completeAgain = 'PreconditionFailed';
  expect(await complete()).toBe('PreconditionFailed');
  store.settings.completeAgain = 'same answer';
  expect(await complete()).toBe('completed');
});

test('refuses a call without a signature, and one that was signed with another secret', async () => {
  const { endpoint } = await storeAndClient();
  expect((await fetch(`${endpoint}/exports/${AT.Key}`, { method: 'DELETE' })).status).toBe(403);
  const other = clientOf(endpoint, { accessKeyId: 'test', secretAccessKey: 'another' });

  await expect(other.send(new PutObjectCommand({ ...AT, Body: 'x' }))).rejects.toMatchObject({
    name: 'SignatureDoesNotMatch',
  });
});
