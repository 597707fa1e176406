import { stepDependencies } from '../../core/step/dependencies.ts';
import { asStep } from '../../core/step/step.ts';
import { bucketFromEnv } from '../../core/storage/bucket-from-env.ts';
import { publishFile } from './publish-file.ts';

/** State PublishFile of the machine ExportRun: leaves the manifest and two pointers, in that order. */
export const handler = asStep('PublishFile', publishFile, (invocation) => ({
  ...stepDependencies('PublishFile'),
  bucket: bucketFromEnv(invocation),
}));
