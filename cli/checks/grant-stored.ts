import { CRM_EXPORT } from '../../core/commands.ts';
import { RunError } from '../../core/errors.ts';
import type { Generation } from '../../core/oauth/grant.ts';
import { isUntried } from '../../core/oauth/grant.ts';
import type { Tokens } from '../../core/oauth/secrets.ts';
import { type Check, ifSeen } from './check.ts';
import { CannotTell, type Finding, holds, warning } from './finding.ts';

/** The run that refreshes an untried grant; `checked` completes the command. */
export const FIRST_RUN = `${CRM_EXPORT} start leads --wait`;

interface Context {
  /** The newest grant; `undefined` where there is none. */
  newest: () => Promise<Generation | undefined>;
}

/** Functions store a refreshed grant for the first time when the first token is due; until then nothing shows that they can. */
export const GRANT_STORED: Check<Context> = ifSeen({
  id: 'grant-stored',
  question: 'When did a function last store a refreshed grant?',
  rights: [
    'secretsmanager:GetSecretValue on both secrets',
    'kms:Decrypt on the key, through Secrets Manager and DynamoDB',
  ],
  look: async ({ newest }) => {
    const generation = await newest().catch(whereUnavailable);
    return generation ? storedFinding(generation.tokens) : [];
  },
});

/** Stores that do not answer say nothing about the grant. */
function whereUnavailable(error: unknown): never {
  if (error instanceof RunError && error.name === 'TokenStoreUnavailable') throw new CannotTell(error.message);
  throw error;
}

function storedFinding(tokens: Tokens): Finding {
  const { functionStoredAt, obtainedAt } = tokens;
  if (isUntried(tokens)) {
    return warning(
      `None has yet, since a person gave the grant at ${obtainedAt}.`,
      `Start a run while that person can consent again, for it refreshes the grant as the night will: ${FIRST_RUN}.`,
    );
  }
  if (!functionStoredAt) return holds('The grant that is stored does not say it: an earlier release stored it.');
  return holds(`At ${functionStoredAt}.`);
}
