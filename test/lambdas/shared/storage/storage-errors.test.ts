import { expect, test } from 'vitest';
import { RunError } from '../../../../lambdas/shared/errors.ts';
import { refusedCondition, storageError } from '../../../../lambdas/shared/storage/storage-errors.ts';
import { CANARY } from '../../../support/builders.ts';

const s3Error = (name: string, httpStatusCode?: number) =>
  Object.assign(new Error(CANARY), { name, $metadata: { httpStatusCode } });

test.each<[string, number, string]>([
  ['AccessDenied', 403, 'StorageDenied'],
  ['NoSuchBucket', 404, 'StorageDenied'],
  ['AllAccessDisabled', 403, 'StorageDenied'],
  ['KMS.DisabledException', 400, 'StorageDenied'],
  ['KMS.KMSInvalidStateException', 400, 'StorageDenied'],
  ['InvalidAccessKeyId', 403, 'StorageDenied'],
  ['SlowDown', 503, 'StorageUnavailable'],
  ['TimeoutError', 0, 'StorageUnavailable'],
])('%s (%i) is %s', (name, status, expected) => {
  expect(storageError(s3Error(name, status), 'write', 'k')).toMatchObject({
    name: expected,
    message: `The bucket did not let k be written (${name}).`,
  });
});

test('an error of the run stays what it is', () => {
  const error = new RunError('FileRejected', 'A web page.');

  expect(storageError(error, 'write', 'k')).toBe(error);
});

test('what was thrown without being an error is storage trouble too', () => {
  expect(storageError(CANARY, 'read', 'k')).toMatchObject({
    name: 'StorageUnavailable',
    message: expect.stringContaining('(unknown)'),
  });
});

test.each<[unknown, boolean]>([
  [s3Error('PreconditionFailed', 412), true],
  [s3Error('Unknown', 412), true],
  [s3Error('ConditionalRequestConflict', 409), false],
  [s3Error('AccessDenied', 403), false],
  [new Error('x'), false],
  ['PreconditionFailed', false],
])('only 412 says that a condition does not hold: case %#', (error, refused) => {
  expect(refusedCondition(error)).toBe(refused);
});
