import { expect, test } from 'vitest';
import { ERRORS, RunError, type RunErrorName } from '../../../core/errors.ts';
import { asRunError } from '../../../lambdas/download-file/download-file.ts';
import { TRANSFER_REASONS, TransferError, type TransferReason } from '../../../transfer/base/transfer-errors.ts';

const NAMES: Record<TransferReason, [RunErrorName, 'final' | 'transient']> = {
  'address-rejected': ['DownloadUrlRejected', 'final'],
  'link-expired': ['DownloadLinkExpired', 'transient'],
  'rate-limited': ['RateLimited', 'transient'],
  'source-unavailable': ['CrmUnavailable', 'transient'],
  changed: ['DownloadUnfinished', 'final'],
  incomplete: ['DownloadIncomplete', 'transient'],
  stalled: ['DownloadStalled', 'transient'],
  'too-large': ['DownloadTooLarge', 'final'],
  refused: ['FileRejected', 'final'],
  'store-unavailable': ['StorageUnavailable', 'transient'],
  'store-denied': ['StorageDenied', 'final'],
  conflict: ['StorageConflict', 'final'],
};

test.each(TRANSFER_REASONS)('maps %s to its RunError, with message, wait and cause', (reason) => {
  const error = new TransferError(reason, 'It was so.', { retryAfterSeconds: 40 });
  const [name, lasting] = NAMES[reason];

  const mapped = asRunError(error);

  expect(mapped).toBeInstanceOf(RunError);
  expect(mapped).toMatchObject({ name, message: 'It was so.', retryAfterSeconds: 40, cause: error });
  expect(ERRORS[name].class).toBe(lasting);
});

test.each([new RunError('ExportNotReady', 'Not yet.'), new TypeError('a bug'), 'a string', undefined])(
  'passes any other error through: %s',
  (thrown) => {
    expect(asRunError(thrown)).toBe(thrown);
  },
);
