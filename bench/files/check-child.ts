import { S3Client } from '@aws-sdk/client-s3';
import { streamingLimits } from '../../core/aws/reading-agent.ts';
import { createBucket } from '../../core/storage/bucket.ts';
import { scanObject } from '../check/scan-object.ts';
import { givenJob } from '../support/children.ts';
import { type CheckPassJob, measured } from './job.ts';

/** The pass of PublishFile over an object, by the clients that it has, with all of it loaded. */

const { endpoint, key, bytes } = givenJob<CheckPassJob>();
await import('../../lambdas/publish-file/handler.ts');
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
const client = new S3Client({ ...streamingLimits(), endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
const bucket = createBucket(client, 'bench');

await measured(async () => {
  const opened = await bucket.stream(key, { from: 0 });
  if (!opened) throw new Error(`There is no object at ${key}.`);
  const records = await scanObject(opened.chunks, 7);
  if (opened.bytes !== bytes) throw new Error(`The object has ${opened.bytes} bytes, not ${bytes}.`);
  return records;
});
