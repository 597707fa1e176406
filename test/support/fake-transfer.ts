import type { DownloadFileDeps } from '../../lambdas/download-file/download-file.ts';

/** A transfer that requests the address and names the object, and says that it stored an empty CSV file. */
export const fakeTransfer: DownloadFileDeps['transfer'] = async ({ address, nameObject }) => {
  await address();
  const object = nameObject({ length: 0, contentType: 'text/csv' }, Buffer.alloc(0));
  if ('refuse' in object) throw new Error(object.refuse);
  return { ...object, bytes: 0, crc32: 0, undeclaredEnd: false };
};

/** A bucket for a transfer that does not use it. */
export const NO_STORE: DownloadFileDeps['store'] = {
  bucket: 'exports',
  region: 'eu-west-1',
  credentials: async () => {
    throw new Error('no bucket was to be reached');
  },
  objectChecksum: true,
};
