import { defaultProvider } from '../../core/aws/environment-credentials.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { bucketPlace } from '../../core/config/env.ts';
import { RunError } from '../../core/errors.ts';
import type { StoreOptions } from '../../transfer/index.ts';

/**
 * The bucket of the deployment, as the transfer engine reaches it.
 * @throws RunError `ConfigInvalid` when a variable is missing, or when files would leave for a store in the open.
 */
export function storeFromEnv(env: NodeJS.ProcessEnv, { local, files }: Deployment): StoreOptions {
  const { bucket, region, urlSuffix } = bucketPlace(env);
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL;
  if (!local && endpoint && !endpoint.startsWith('https:')) {
    throw new RunError('ConfigInvalid', 'The function is told to store files at an address without TLS.');
  }
  return {
    bucket,
    region,
    urlSuffix,
    endpoint,
    credentials: defaultProvider(),
    partChecksums: files.partChecksums,
    // The local cloud refuses the checksum of a whole object; there, the pass of PublishFile is the proof.
    objectChecksum: !local,
  };
}
