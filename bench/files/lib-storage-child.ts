import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { givenJob } from '../support/children.ts';
import { type Job, measured } from './job.ts';

/** The peer that everybody reaches for first: `Upload` of lib-storage, as it is by default, on the body of `fetch`. */

const job = givenJob<Job>();
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
const client = new S3Client({ region: 'us-east-1', endpoint: job.store, credentials, forcePathStyle: true });

await measured(async () => {
  const response = await fetch(job.source);
  const params = { Bucket: job.bucket, Key: job.key, Body: response.body ?? undefined };
  await new Upload({ client, params }).done();
});
