import { bucketFromEnv, crmDependencies } from '../shared/compose.ts';
import { openFile } from '../shared/files/open-file.ts';
import { asStep } from '../shared/step.ts';
import { downloadFile } from './download-file.ts';

/** State DownloadFile of the machine ExportRun: leaves the file in the bucket, under a key of this run alone. */
export const handler = asStep('DownloadFile', downloadFile, (invocation) => ({
  ...crmDependencies('DownloadFile', invocation),
  bucket: bucketFromEnv(),
  openFile,
}));
