import { RetryableError, StartOver, TransferError } from '../base/errors.ts';

/** The condition of a write does not hold: the key exists. For any other request it is the end as well. */
export class KeyExists extends TransferError {}

/** The store does not know the upload: it was completed, aborted, or has expired. */
export class NoSuchUpload extends StartOver {}

const DENIED = ['AccessDenied', 'NoSuchBucket', 'AllAccessDisabled', 'InvalidAccessKeyId', 'SignatureDoesNotMatch'];
/** Refusals with a status of the 400s that another attempt may fix all the same. */
const RETRYABLE = ['RequestTimeout', 'BadDigest', 'IncompleteBody', 'ExpiredToken', 'InternalError', 'SlowDown'];

/** What a refusal by the store means. `BadDigest` is damage in transit: the same request is repeated, never one with less proof. */
export function refusalOf(status: number, code: string, action: string, message = ''): Error {
  const what = `${refusedBy(code, message)} did not let the file be ${action} (${code || status}).`;
  if (code === 'PreconditionFailed' || status === 412) return new KeyExists('conflict', what);
  if (code === 'NoSuchUpload') return new NoSuchUpload(what);
  if (code === 'ConditionalRequestConflict') return new StartOver(what);
  if (status >= 500 || status === 429 || RETRYABLE.includes(code)) return new RetryableError('store-unavailable', what);
  const denied = status === 403 || DENIED.includes(code) || code.startsWith('KMS.');
  return new TransferError(denied ? 'store-denied' : 'store-unavailable', what);
}

/** Whether the bucket or its key refused, as far as S3 tells. The message also names roles and keys, and is not passed on. */
export function refusedBy(code: string, message: string): string {
  if (code.startsWith('KMS.') || /\bkms:[A-Z]/.test(message)) return 'The encryption key of the bucket';
  if (code === 'AccessDenied' && !/\bs3:[A-Z]/.test(message)) return 'The bucket, or its encryption key,';
  return 'The bucket';
}
