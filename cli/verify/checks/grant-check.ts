import { RunError } from '../../../core/errors.ts';
import { createGrantStore, newestOf } from '../../../core/oauth/grant-store.ts';
import { given } from '../../checks/check.ts';
import { CannotTell } from '../../checks/finding.ts';
import { missingRight } from '../../checks/finding-of.ts';
import { GRANT_STORED } from '../../checks/grant-stored.ts';
import type { Verifying } from '../base/verifying.ts';

/** Looked at behind the export, whose functions refresh a grant that is due. */
export const GRANT_CHECK = given(GRANT_STORED, async ({ target, runs, readOnly }: Verifying) => {
  if (readOnly === undefined) await runs.exported().catch(() => undefined);
  return { newest: () => newestGrant(target) };
});

async function newestGrant({ secrets, TokensSecretId }: Verifying['target']) {
  try {
    return (await newestOf(createGrantStore(secrets, TokensSecretId))).newest;
  } catch (error) {
    // The error of the store advises functions; here it is a right of a person.
    const missing = error instanceof RunError ? missingRight(error.cause) : undefined;
    if (missing) throw new CannotTell(`these credentials lack the right ${missing}`);
    throw error;
  }
}
