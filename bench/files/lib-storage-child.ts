import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { doJob } from '../child.ts';
import type { Job } from './clients.ts';

/** Transfers a file with the usual alternative: `Upload` of lib-storage with its defaults, on the body of `fetch`. */

const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
await doJob(async ({ source, store, bucket, key }: Job) => {
  const client = new S3Client({ region: 'us-east-1', endpoint: store, credentials, forcePathStyle: true });
  const { body } = await fetch(source);
  await new Upload({ client, params: { Bucket: bucket, Key: key, Body: body ?? undefined } }).done();
});
