import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { refusedCondition, storageError } from '../../../core/storage/storage-errors.ts';
import { CANARY } from '../../support/builders.ts';

const s3Error = (name: string, httpStatusCode?: number) =>
  Object.assign(new Error(CANARY), { name, $metadata: { httpStatusCode } });

const ROLE = 'arn:aws:sts::111122223333:assumed-role/R/f is not authorized to perform:';

test.each([
  ['KMS.DisabledException', CANARY, 'The encryption key of the bucket'],
  ['KMS.KMSInvalidStateException', CANARY, 'The encryption key of the bucket'],
  ['AccessDenied', `User: ${ROLE} kms:GenerateDataKey on resource: ${CANARY}`, 'The encryption key of the bucket'],
  ['AccessDenied', `User: ${ROLE} s3:PutObject on resource: ${CANARY}`, 'The bucket'],
  ['AccessDenied', `Access Denied ${CANARY}`, 'The bucket, or its encryption key,'],
])('%s with the message "%s" names the bucket or its key, without quoting the message', (name, message, who) => {
  const error = Object.assign(new Error(message), { name, $metadata: { httpStatusCode: 403 } });

  expect(storageError(error, 'write', 'k')).toMatchObject({
    name: 'StorageDenied',
    message: `${who} did not allow k to be written (${name}).`,
  });
});

test('storageError returns a RunError unchanged', () => {
  const error = new RunError('FileRejected', 'A web page.');

  expect(storageError(error, 'write', 'k')).toBe(error);
});

test('storageError returns StorageUnavailable for a value that is not an error', () => {
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
])('refusedCondition is true only for a 412: case %#', (error, refused) => {
  expect(refusedCondition(error)).toBe(refused);
});
