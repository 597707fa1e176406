import { LIMITS } from './base/limits.ts';
import { timeOf } from './base/time.ts';
import { TransferError } from './base/transfer-error.ts';
import type { Resume, TransferOptions } from './base/types.ts';
import { Store } from './store/store.ts';

/**
 * Ends an upload that is not to be gone on with: its parts cost money until then. It returns before `secondsLeft` is 0.
 * @throws TransferError `store-…`, also when time is up
 */
export async function abortUpload(
  options: Pick<TransferOptions, 'store' | 'limits' | 'secondsLeft'>,
  upload: Resume,
): Promise<void> {
  const time = timeOf(options);
  try {
    await abort(options, upload, time.up);
  } catch (error) {
    if (!time.up.aborted) throw error;
    throw new TransferError('store-unavailable', 'The bucket did not end the upload before time was up.');
  } finally {
    time.stop();
  }
}

/** The same until a signal fires, over connections of its own: those of the attempt may be closed. */
export async function abort(
  options: Pick<TransferOptions, 'store' | 'limits'>,
  upload: Resume,
  signal: AbortSignal,
): Promise<void> {
  const store = new Store(options.store, { limits: { ...LIMITS, ...options.limits }, random: Math.random, signal });
  try {
    await store.abort(upload);
  } finally {
    store.close();
  }
}
