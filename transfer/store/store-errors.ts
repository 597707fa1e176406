import { RetryableError, TransferError } from '../base/transfer-errors.ts';

const DENIED = ['AccessDenied', 'NoSuchBucket', 'AllAccessDisabled', 'InvalidAccessKeyId', 'SignatureDoesNotMatch'];
/** Refusals with a 4xx status that another attempt may fix. */
const RETRYABLE = ['RequestTimeout', 'BadDigest', 'IncompleteBody', 'ExpiredToken', 'InternalError', 'SlowDown'];

/** The error for a refusal. `BadDigest` is damage in transit: the same request, checksum included, is repeated. */
export function refusalOf(status: number, code: string, action: string, message = ''): TransferError {
  const what = `${refusedBy(code, message)} did not allow the file to be ${action} (${code || status}).`;
  // The key exists, so the condition of the write failed.
  if (code === 'PreconditionFailed' || status === 412) return new TransferError('conflict', what);
  // `NoSuchUpload`: the upload was completed or aborted, or has expired.
  if (['NoSuchUpload', 'ConditionalRequestConflict'].includes(code)) return new TransferError('changed', what);
  if (status >= 500 || status === 429 || RETRYABLE.includes(code)) return new RetryableError('store-unavailable', what);
  const denied = status === 403 || DENIED.includes(code) || code.startsWith('KMS.');
  return new TransferError(denied ? 'store-denied' : 'store-unavailable', what);
}

/** The part that refused, by the code and message of S3. The message is not quoted: it also names roles. */
export function refusedBy(code: string, message: string): string {
  if (code.startsWith('KMS.') || /\bkms:[A-Z]/.test(message)) return 'The encryption key of the bucket';
  if (code === 'AccessDenied' && !/\bs3:[A-Z]/.test(message)) return 'The bucket, or its encryption key,';
  return 'The bucket';
}
