import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, test } from 'vitest';
import { TableError } from '../../../core/table/table-error.ts';
import { readHashKey } from '../../../lambdas/write-table/handler.ts';
import { refused } from '../../cli/support/cloud/answers.ts';
import { aws } from '../../cli/support/cloud/cloud.ts';
import { grant } from '../../cli/support/cloud/grant.ts';
import { failureOf } from '../../support/failures.ts';
import { expectMessages } from '../../support/screen.ts';

const KEY = 'k'.repeat(64);

const secretsManager = async (...parts: Parameters<typeof aws>) => (await aws(...parts)).client(SecretsManagerClient);

test('reads the key of hashed columns from its secret', async () => {
  expect(await readHashKey(await secretsManager(grant({ key: KEY })), 'arn:key')).toBe(KEY);
});

test('reports in one sentence, without the key, a key that hides nothing', async () => {
  const refused: [what: string, values: Record<string, string>, id: string | undefined][] = [
    ['is missing', {}, 'arn:key'],
    ['has no value', { key: '' }, 'arn:key'],
    ['is too short to hide anything', { key: 'secret-4711' }, 'arn:key'],
    ['the function does not know', {}, undefined],
  ];
  const told = refused.map(async ([what, values, id]) => {
    const error = await readHashKey(await secretsManager(grant(values)), id).catch((thrown: unknown) => thrown);
    expect(error, what).toBeInstanceOf(TableError);
    return [what, (error as TableError).message] as const;
  });
  await expectMessages('hash-key-refused', await Promise.all(told));
});

test('Secrets Manager without an answer is a transient error, a missing right a final one', async () => {
  const answering = (error: string) => secretsManager({ GetSecretValue: refused(error) });
  const [silent, denied] = [await answering('InternalServiceError'), await answering('AccessDeniedException')];

  expect((await failureOf(readHashKey(silent, 'arn:key'), 'TokenStoreUnavailable')).transient).toBe(true);
  expect((await failureOf(readHashKey(denied, 'arn:key'), 'ConfigInvalid')).transient).toBe(false);
});
