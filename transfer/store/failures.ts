import { RetryableError, StartOver } from '../base/retry.ts';
import { TransferError } from '../base/transfer-error.ts';
import { refusedBy } from './refused-by.ts';

/** A condition of a write does not hold: the key exists. Where no write was conditional, it is the end all the same. */
export class KeyExists extends TransferError {
  constructor(message: string) {
    super('conflict', message);
  }
}

/** The store knows the upload no more: it was completed, aborted, or its time was up. */
export class NoSuchUpload extends StartOver {}

const DENIED = new Set([
  'AccessDenied',
  'NoSuchBucket',
  'AllAccessDisabled',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
]);
/** Refusals with a status of the 400s that another attempt may mend all the same. */
const PASSING = new Set(['RequestTimeout', 'BadDigest', 'IncompleteBody', 'ExpiredToken', 'InternalError', 'SlowDown']);

/**
 * What a refusal of the store means. `BadDigest` is a fault of the way there and is repeated as it was: never a reason to
 * send less proof.
 */
export function refusalOf(status: number, code: string, how: string, message = ''): Error {
  const what = `${refusedBy(code, message)} did not let the file be ${how} (${code || status}).`;
  if (code === 'PreconditionFailed' || status === 412) return new KeyExists(what);
  if (code === 'NoSuchUpload') return new NoSuchUpload(what);
  if (code === 'ConditionalRequestConflict') return new StartOver(what);
  if (status >= 500 || status === 429 || PASSING.has(code)) return new RetryableError('store-unavailable', what);
  if (status === 403 || DENIED.has(code) || code.startsWith('KMS.')) return new TransferError('store-denied', what);
  return new TransferError('store-unavailable', what);
}
