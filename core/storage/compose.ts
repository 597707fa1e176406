import { bucketAddress } from '../aws/env.ts';
import { defaultProvider } from '../aws/environment-credentials.ts';
import type { Bucket } from './bucket.ts';
import { createFastRead } from './fast-read.ts';

/** Reads the bucket that the environment of a function names. */
export function fastReadFromEnv({ env } = process): Bucket['read'] {
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL;
  return createFastRead({ ...bucketAddress(env), endpoint, credentials: defaultProvider() });
}
