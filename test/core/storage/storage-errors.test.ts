import { expect, test } from 'vitest';
import { RunError } from '../../../core/errors.ts';
import { storageError } from '../../../core/storage/storage-errors.ts';
import { CANARY } from '../../support/builders.ts';
import { expectMessages } from '../../support/screen.ts';

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
