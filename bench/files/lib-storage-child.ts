import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { answer, costOf, jobOfChild } from '../child.ts';
import type { Job } from './clients.ts';

/** The usual alternative: `Upload` of lib-storage with its defaults, on the body of `fetch`. */

const job = jobOfChild<Job>();
const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' };
const client = new S3Client({ region: 'us-east-1', endpoint: job.store, credentials, forcePathStyle: true });

const cost = await costOf(async () => {
  const response = await fetch(job.source);
  const params = { Bucket: job.bucket, Key: job.key, Body: response.body ?? undefined };
  await new Upload({ client, params }).done();
});
answer(cost);
