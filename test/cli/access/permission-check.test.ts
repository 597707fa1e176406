import { expect, test } from 'vitest';
import { checkPermissions } from '../../../cli/access/authorize-flow.ts';
import { FakeLedger } from '../../oauth/support/fake-ledger.ts';
import { FakeSecrets } from '../../oauth/support/fake-secrets.ts';

/** A permission check in which the secret of the tokens, or the table, gives this answer. */
async function permissionCheck(name: string, part: 'secret' | 'table') {
  const secrets = new FakeSecrets(
    () => new Date(0),
    async () => undefined,
  );
  const ledger = new FakeLedger(async () => undefined);
  const trouble = Object.assign(new Error('refused'), { name });
  if (part === 'table') ledger.trouble = () => trouble;
  else secrets.trouble = (_, secret) => (secret === 'tokens' ? trouble : undefined);
  const places = { ClientSecretId: 'client', TokensSecretId: 'tokens', LedgerTableName: 'ledger' };
  return checkPermissions({ secrets: secrets.client, dynamo: ledger.client, ...places });
}

const RESTORE =
  'restore what was changed or deleted by hand, which an ordinary deployment leaves as it is: npx cdk deploy --revert-drift.';

test.each([
  ['table', 'ResourceNotFoundException', RESTORE],
  ['secret', 'ResourceNotFoundException', RESTORE],
  ['table', 'AccessDeniedException', 'Use credentials that may read and write it.'],
  ['secret', 'InternalServiceError', 'Try again later.'],
  [
    'secret',
    'InvalidRequestException',
    'It is scheduled for deletion; to restore it: aws secretsmanager restore-secret --secret-id tokens.',
  ],
] as const)('a %s that answers %s ends the command before a person is asked', async (part, name, advice) => {
  await expect(permissionCheck(name, part)).rejects.toMatchObject({
    exitCode: 3,
    message: expect.stringContaining(`(${name}). ${advice} Nobody was asked to consent yet.`),
  });
});
