import { expect, test } from 'vitest';
import { checked, nameCalls } from '../../../cli/health/health-check.ts';
import { GRANT_CHECK, type Verifying } from '../../../cli/health/verify-export.ts';
import { type Answers, denied, refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

const obtainedAt = '2026-11-20T00:00:00.000Z';
const tokens = { refreshToken: 'r', accessToken: 'a', expiresAt: null, obtainedAt, scope: '', earlierObtainedAt: [] };

/** Runs the check of `verify` and counts its requests for the export. */
async function look(answers: Answers, readOnly?: string) {
  const { target } = await aws(answers);
  nameCalls(target, ['secrets']);
  let exports = 0;
  const exported = async () => {
    exports += 1;
    throw new Error('the export failed');
  };
  // The check uses no other part of a verify.
  const [found] = await checked(GRANT_CHECK, { target, readOnly, runs: { exported } } as unknown as Verifying, {
    deployment: 'dev',
  });
  return { ...found, exports };
}

const storing = (more: object): Answers => ({
  GetSecretValue: ({ input }) =>
    'VersionStage' in input
      ? { VersionId: 'v1', SecretString: JSON.stringify({ ...tokens, ...more }) }
      : refused('ResourceNotFoundException'),
});

test('verify says when a function last stored the grant, behind the export, however that ended', async () => {
  const found = await look(storing({ functionStoredAt: '2026-11-20T01:00:00.000Z' }));

  expect(found).toMatchObject({ verdict: 'holds', found: 'At 2026-11-20T01:00:00.000Z.', exports: 1 });
});

test('whoever may make nothing makes no export for it', async () => {
  const found = await look(storing({ functionStoredAt: null }), 'these credentials lack a right');

  expect(found).toMatchObject({ verdict: 'warning', exitCode: 0, exports: 0 });
});

test('whoever may not read the secret is told so, and nothing fails by it', async () => {
  const found = await look(denied('GetSecretValue'));

  expect(found).toMatchObject({
    ...{ verdict: 'unknown', exitCode: 0 },
    found: 'these credentials lack the right secretsmanager:GetSecretValue',
  });
});

test('a store that does not answer says nothing about the grant', async () => {
  const found = await look({ GetSecretValue: () => refused('InternalServiceError') });

  expect(found).toMatchObject({ verdict: 'unknown', exitCode: 0 });
});
