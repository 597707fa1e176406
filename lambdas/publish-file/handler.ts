import { asStep } from '../../core/step/handler.ts';
import { bucketFromEnv } from '../../core/storage/bucket-from-env.ts';
import { publishFile } from './publish-file.ts';

/** State PublishFile of the machine ExportRun: leaves the manifest and two pointers, in that order. */
export const handler = asStep('PublishFile', publishFile, () => {
  const bucket = bucketFromEnv();
  return (invocation) => ({ ...invocation, bucket: bucket(invocation) });
});
