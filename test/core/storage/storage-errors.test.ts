import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { refusedCondition, storageError } from '../../../core/storage/storage-errors.ts';
import { CANARY } from '../../support/builders.ts';
import { expectMessages } from '../../support/screen.ts';

const s3Error = (name: string, httpStatusCode?: number) =>
  Object.assign(new Error(CANARY), { name, $metadata: { httpStatusCode } });

const ROLE = 'arn:aws:sts::111122223333:assumed-role/R/f is not authorized to perform:';

const DENIED = [
  ['KMS.DisabledException', CANARY],
  ['KMS.KMSInvalidStateException', CANARY],
  ['AccessDenied', `User: ${ROLE} kms:GenerateDataKey on resource: ${CANARY}`],
  ['AccessDenied', `User: ${ROLE} s3:PutObject on resource: ${CANARY}`],
  ['AccessDenied', `Access Denied ${CANARY}`],
] as const;

test('a refusal names the bucket or its key, and quotes no message', async () => {
  const told = DENIED.map(([name, message]) => {
    const error = storageError(
      Object.assign(new Error(message), { name, $metadata: { httpStatusCode: 403 } }),
      'write',
      'k',
    );
    expect(error.name).toBe('StorageDenied');
    return [message.replaceAll(CANARY, 'TEXT'), error.message] as const;
  });
  await expectMessages('storage-denied', told);
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
