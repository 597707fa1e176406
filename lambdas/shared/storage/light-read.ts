import { RunError } from '../errors.ts';
import { LIMITS } from '../files/transfer/limits.ts';
import { StoreCalls } from '../files/transfer/store/call.ts';
import { TransferError } from '../files/transfer/transfer-error.ts';
import type { StoreOptions } from '../files/transfer/types.ts';
import type { Bucket } from './bucket.ts';

/**
 * Reads small objects with the engine's client of the bucket in place of the SDK's, which takes a multiple of the time for
 * a call that is made before every line. Connections are kept.
 * @throws RunError `StorageDenied` or `StorageUnavailable`
 */
export function createLightRead(
  options: Pick<StoreOptions, 'bucket' | 'region' | 'endpoint' | 'credentials'>,
): Bucket['read'] {
  const patience = { limits: LIMITS, random: Math.random, signal: new AbortController().signal };
  const calls = new StoreCalls({ ...options, partChecksums: 'omitted', objectChecksum: false }, patience);
  return async (key) => {
    try {
      const { status, headers, text } = await calls.call({ method: 'GET', key, how: 'read', accept: [404] });
      return status === 404 ? undefined : { text, etag: headers.etag ?? '' };
    } catch (error) {
      if (!(error instanceof TransferError)) throw error;
      const denied = error.reason === 'store-denied';
      const what = `The bucket did not let ${key} be read. ${error.message}`;
      throw new RunError(denied ? 'StorageDenied' : 'StorageUnavailable', what, { cause: error });
    }
  };
}
