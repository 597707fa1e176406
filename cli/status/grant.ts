import { createGrantStore, newestOf } from '../../core/oauth/grant-store.ts';
import { createLedger } from '../../core/oauth/ledger.ts';
import { MOST_REFUSALS } from '../../core/oauth/spend.ts';
import { ended } from '../support/ended.ts';
import type { Target } from '../support/target.ts';
import { plain } from '../support/text.ts';
import type { Status } from './schema.ts';

/** When the tokens were obtained that are stored, and whether the CRM has refused their refresh. */
export async function grantOf(target: Target, warn: (sentence: string) => void): Promise<Status['grant']> {
  const { secrets, dynamo, TokensSecretId, LedgerTableName } = target;
  try {
    const { newest } = await newestOf(createGrantStore(secrets, TokensSecretId));
    const item = await createLedger(dynamo, LedgerTableName, TokensSecretId).read(newest.versionId);
    const refused =
      item && item.refusals >= MOST_REFUSALS ? `The CRM refuses to refresh it: ${plain(item.reason)}` : null;
    const dead =
      item?.state === 'DEAD' ? `It is dead${item.diedAt ? ` since ${item.diedAt}` : ''}: ${plain(item.reason)}` : null;
    return { obtainedAt: newest.tokens.obtainedAt, trouble: dead ?? refused };
  } catch (error) {
    warn(`The age of the grant is not known: ${ended(error).sentence}`);
    return null;
  }
}
