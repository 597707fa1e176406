import { crc32 } from 'node:zlib';
import type { DownloadFileDeps } from '../../lambdas/download-file/download-file.ts';

/** A transfer that asks for the address and names the object, and moves nothing: a CSV file of these bytes is stored. */
export function fakeTransfer(content: Uint8Array = Buffer.alloc(0)): DownloadFileDeps['transfer'] {
  return async ({ address, nameObject }) => {
    await address();
    const head = { length: content.length, contentType: 'text/csv', disposition: '', contentEncoding: '' };
    const object = nameObject(head, content);
    if ('refuse' in object) throw new Error(object.refuse);
    const measured = { bytes: content.length, crc32: crc32(content) };
    return { done: true, ...object, ...measured, strategy: 'small', undeclaredEnd: false };
  };
}

/** The bucket of a transfer that reaches none. */
export const NO_STORE: DownloadFileDeps['store'] = {
  bucket: 'exports',
  region: 'eu-west-1',
  credentials: async () => {
    throw new Error('no bucket was to be reached');
  },
  objectChecksum: true,
};
