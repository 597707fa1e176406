import { crc32 } from 'node:zlib';
import type { DownloadFileDeps } from '../../lambdas/download-file/download-file.ts';

/**
 * A transfer that requests the address and names the object, and stores a CSV file of these bytes without moving any.
 */
export function fakeTransfer(content: Uint8Array = Buffer.alloc(0)): DownloadFileDeps['transfer'] {
  return async ({ address, nameObject }) => {
    await address();
    const head = { length: content.length, contentType: 'text/csv' };
    const object = nameObject(head, content);
    if ('refuse' in object) throw new Error(object.refuse);
    const measured = { bytes: content.length, crc32: crc32(content) };
    return { ...object, ...measured, undeclaredEnd: false };
  };
}

/** A bucket for a transfer that does not use it. */
export const NO_STORE: DownloadFileDeps['store'] = {
  bucket: 'exports',
  region: 'eu-west-1',
  credentials: async () => {
    throw new Error('no bucket was to be reached');
  },
  objectChecksum: true,
};
