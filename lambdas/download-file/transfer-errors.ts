import { RunError, type RunErrorName } from '../../core/errors.ts';
import { TransferError, type TransferReason } from '../../transfer/base/errors.ts';

const NAMES: Record<TransferReason, RunErrorName> = {
  'address-rejected': 'DownloadUrlRejected',
  'link-expired': 'DownloadLinkExpired',
  'rate-limited': 'RateLimited',
  'source-unavailable': 'CrmUnavailable',
  incomplete: 'DownloadIncomplete',
  stalled: 'DownloadStalled',
  'too-large': 'DownloadTooLarge',
  refused: 'FileRejected',
  'store-unavailable': 'StorageUnavailable',
  'store-denied': 'StorageDenied',
  conflict: 'StorageConflict',
};

/** An error of the transfer engine under its name in the closed list; anything else as it is. */
export function asRunError(error: unknown): unknown {
  if (!(error instanceof TransferError)) return error;
  const { reason, message, retryAfterSeconds } = error;
  return new RunError(NAMES[reason], message, { retryAfterSeconds, cause: error });
}
