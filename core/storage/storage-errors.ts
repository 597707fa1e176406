import { refusedBy } from '../../transfer/store/store-errors.ts';
import { RunError } from '../errors.ts';
import { ownValue } from '../json.ts';

/** 412: the condition of a conditional write is false. AWS sends it for Put and Complete (docs/adr/0006). */
export function refusedCondition(error: unknown): boolean {
  return nameOf(error) === 'PreconditionFailed' || statusOf(error) === 412;
}

/** 409: another conditional write of the same key was in progress. The object was not written. */
export function isWriteConflict(error: unknown): boolean {
  return error instanceof RunError && statusOf(error.cause) === 409;
}

/** Whether the object is gone, or its delete marker was tagged (https://github.com/getmoto/moto/issues/9401). */
export function isObjectGone(error: unknown): boolean {
  return error instanceof Error && ['NotFound', 'NoSuchKey', 'MethodNotAllowed'].includes(error.name);
}

/** Converts an error of S3 to a RunError. A RunError (of the stream that was being stored) is returned unchanged. */
export function storageError(error: unknown, how: 'read' | 'write', key: string): RunError {
  if (error instanceof RunError) return error;
  const name = nameOf(error);
  const who = refusedBy(name, error instanceof Error ? error.message : '');
  const done = `${how === 'read' ? 'read' : 'written'} (${name})`;
  const denied = /^(AccessDenied|NoSuchBucket|AllAccessDisabled|KMS\..*)$/.test(name) || statusOf(error) === 403;
  if (denied) return new RunError('StorageDenied', `${who} did not allow ${key} to be ${done}.`, { cause: error });
  return new RunError('StorageUnavailable', `The object ${key} could not be ${done}.`, { cause: error });
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  // The code is more specific than the name: ECONNRESET instead of Error.
  return error.name === 'Error' && 'code' in error ? String(error.code) : error.name;
}

function statusOf(error: unknown): unknown {
  return ownValue(ownValue(error, '$metadata'), 'httpStatusCode');
}
