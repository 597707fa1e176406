import { createGrantStore, newestOf } from '../../../core/oauth/grant-store.ts';
import { given } from '../../checks/check.ts';
import { GRANT_STORED } from '../../checks/grant-stored.ts';
import type { Verifying } from '../base/verifying.ts';

/** Looked at behind the export, whose functions refresh a grant that is due. */
export const GRANT_CHECK = given(GRANT_STORED, async ({ target, runs, readOnly }: Verifying) => {
  if (readOnly === undefined) await runs.exported().catch(() => undefined);
  const newest = async () => (await newestOf(createGrantStore(target.secrets, target.TokensSecretId))).newest;
  return { newest };
});
