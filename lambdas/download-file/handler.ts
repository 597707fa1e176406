import { crmDependencies } from '../../core/crm/compose.ts';
import { asStep } from '../../core/step/step.ts';
import { abortUpload, transfer } from '../../transfer/index.ts';
import { downloadFile } from './download-file.ts';
import { storeFromEnv } from './store-from-env.ts';

/** State DownloadFile of the machine ExportRun: leaves the file in the bucket, under a key of this run alone. */
export const handler = asStep('DownloadFile', downloadFile, (invocation) => {
  const common = crmDependencies('DownloadFile', invocation);
  return { ...common, store: storeFromEnv(process.env, common.deployment), transfer, abortUpload };
});
