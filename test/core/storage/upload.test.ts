import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { uploadOver } from '../../../core/storage/upload.ts';
import { s3 } from '../../support/aws-servers.ts';
import { failureOf } from '../../support/failures.ts';

const MIB = 1024 * 1024;
const object = () => ({ Bucket: 'exports', Key: 'big.parquet', Body: Readable.from([Buffer.alloc(11 * MIB)]) });

test('an upload of several parts appears as one object', async () => {
  const { client, objects } = await s3();

  expect(await uploadOver(client, object(), undefined, 5 * MIB)).toBe(true);

  expect(objects.get('big.parquet')?.body.length).toBe(11 * MIB);
});

test.each<[string, string]>([
  ['a page', '<html><body>Welcome</body></html>'],
  ['another document', '<InitiateMultipartUploadResult><Key>big.parquet</Key></InitiateMultipartUploadResult>'],
  ['nothing', ''],
])('where %s answers the begin of an upload, no part is sent: S3 would take it for the object', async (_, text) => {
  const { client, objects, operations } = await s3(({ operation }, response) => {
    if (operation !== 'CreateMultipartUpload') return undefined;
    response.end(text);
    return true;
  });

  await failureOf(uploadOver(client, object(), undefined, 5 * MIB), 'StorageUnavailable');

  expect(objects.size).toBe(0);
  expect(operations.filter((operation) => !operation.startsWith('CreateMultipartUpload'))).toEqual([]);
});
