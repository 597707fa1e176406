import type { DownloadFileDeps } from '../../lambdas/download-file/download-file.ts';

/** A bucket for a transfer that does not use it. */
export const NO_STORE: DownloadFileDeps['store'] = {
  bucket: 'exports',
  region: 'eu-west-1',
  credentials: async () => {
    throw new Error('no bucket was to be reached');
  },
  objectChecksum: true,
};
