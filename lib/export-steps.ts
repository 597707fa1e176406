import { Duration, type Stack } from 'aws-cdk-lib';
import type { StepName } from '../lambdas/shared/steps.ts';
import type { Configuration } from './config.ts';
import type { EncryptionKey } from './encryption-key.ts';
import type { ExportBucket } from './export-bucket.ts';
import { STREAMING } from './node-options.ts';
import { StepFunction } from './step-function.ts';
import type { TokenStore } from './token-store.ts';

/** What the functions of a deployment work with. */
export interface StepsProps {
  configuration: Configuration;
  key: EncryptionKey;
  exports: ExportBucket;
  tokens: TokenStore;
  softwareVersion: string;
}

/** A call of the service with everything around it: a token that was refused, its refresh, a fresh one. */
const SHORT = {
  memorySize: 256,
  // A call of the service may take 30 seconds, its repetition with a fresh token the same, the refresh in between 50, or a
  // minute of waiting for another's. Of such calls CreateExport makes two; killed in the middle of the second, it would
  // leave an export behind.
  timeout: Duration.seconds(300),
};
/** 15 minutes are all that Lambda gives; what 512 MB mean for large files stands in docs/adr/0007. */
const LONG = { memorySize: 512, timeout: Duration.minutes(15) };

/** The four functions of the machine ExportRun, each with what it is given and allowed. */
export function exportSteps(stack: Stack, props: StepsProps): Record<StepName, StepFunction> {
  const { configuration, key, exports, tokens, softwareVersion } = props;
  const step = (name: StepName, size: typeof SHORT, environment: Record<string, string>) =>
    new StepFunction(stack, name, { configuration, key, ...size, environment });
  const oauth = tokens.environment;
  const bucket = { BUCKET_NAME: exports.bucket.bucketName };
  const steps = {
    CreateExport: step('CreateExport', SHORT, { ...oauth, SOFTWARE_VERSION: softwareVersion }),
    CheckStatus: step('CheckStatus', SHORT, oauth),
    DownloadFile: step('DownloadFile', LONG, { ...oauth, ...bucket, ...STREAMING }),
    PublishFile: step('PublishFile', LONG, { ...bucket, ...STREAMING }),
  };
  for (const { role } of [steps.CreateExport, steps.CheckStatus, steps.DownloadFile]) tokens.allowTokens(role);
  exports.allowStoring(steps.DownloadFile.role);
  exports.allowPublishing(steps.PublishFile.role);
  return steps;
}
