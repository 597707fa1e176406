import { crmFromEnv } from '../../core/crm/crm-from-env.ts';
import { asStep } from '../../core/step/export-run.ts';
import type { Connect } from '../../core/step/step.ts';
import { abortUpload, transfer } from '../../transfer/transfer.ts';
import { type DownloadFileDeps, downloadFile } from './download-file.ts';
import { storeFromEnv } from './store-from-env.ts';

/** Makes the clients of a container from its environment. */
export const connect: Connect<DownloadFileDeps> = () => {
  const crm = crmFromEnv();
  return (invocation) => {
    const store = storeFromEnv(process.env, invocation.deployment);
    return { ...invocation, crm: crm(invocation), store, transfer, abortUpload };
  };
};

/** State DownloadFile of the machine ExportRun: stores the file in the bucket, under a key of this run. */
export const handler = asStep('DownloadFile', downloadFile, connect);
