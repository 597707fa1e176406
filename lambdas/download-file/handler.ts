import { readEnv } from '../../core/aws/env.ts';
import { defaultProvider } from '../../core/aws/environment-credentials.ts';
import type { Deployment } from '../../core/config/deployment.ts';
import { crmFromEnv } from '../../core/crm/crm-from-env.ts';
import { RunError } from '../../core/errors.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import type { StoreOptions } from '../../transfer/base/types.ts';
import { abortUpload, transfer } from '../../transfer/transfer.ts';
import { type DownloadFileDeps, downloadFile } from './download-file.ts';

export const connect: Connect<DownloadFileDeps> = () => {
  const crm = crmFromEnv();
  return (invocation) => {
    const store = storeFromEnv(process.env, invocation.deployment);
    return { ...invocation, crm: crm(invocation), store, transfer, abortUpload };
  };
};

/** State DownloadFile of the machine ExportRun: stores the file in the bucket, under a key of this run. */
export const handler = asStep('DownloadFile', downloadFile, connect);

/** @throws RunError `ConfigInvalid` if a variable is missing, or the address has no TLS */
export function storeFromEnv(env: NodeJS.ProcessEnv, { local }: Deployment): StoreOptions {
  const { BUCKET_NAME, AWS_REGION, URL_SUFFIX } = readEnv(env, 'BUCKET_NAME', 'AWS_REGION', 'URL_SUFFIX');
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL;
  if (!local && endpoint && !endpoint.startsWith('https:')) {
    throw new RunError('ConfigInvalid', 'The address of the bucket is not https.');
  }
  return {
    bucket: BUCKET_NAME,
    region: AWS_REGION,
    urlSuffix: URL_SUFFIX,
    endpoint,
    credentials: defaultProvider(),
    // The local cloud refuses the checksum of a whole object, so PublishFile verifies it there.
    objectChecksum: !local,
  };
}
