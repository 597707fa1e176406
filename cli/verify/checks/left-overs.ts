import type { Check } from '../../checks/check.ts';
import { broken, type Finding, holds, unknown } from '../../checks/finding.ts';
import { missingRight } from '../../checks/finding-of.ts';
import { REMOVING_RIGHTS, removeTemporary } from '../base/temporary.ts';
import type { Verifying } from '../base/verifying.ts';

interface Left extends Pick<Verifying, 'target' | 'stack'> {
  /** What an earlier verify had left, by name. */
  ofAnother: string[];
}

/** Made after all others: it looks once more for everything temporary, and removes it. */
export const LEFT_OVERS: Check<Left> = {
  id: 'left-overs',
  question: 'Is everything temporary gone?',
  rights: REMOVING_RIGHTS,
  look: leftOvers,
};

async function leftOvers({ ofAnother, ...place }: Left): Promise<Finding> {
  const { removed, errors } = await removeTemporary(place);
  const earlier = ofAnother.length > 0 ? `; removed of an earlier verify: ${ofAnother.join(', ')}` : '';
  const rights = errors.flatMap((error) => missingRight(error) ?? []);
  if (rights.length < errors.length || rights.some((right) => !/:(List|Describe)/.test(right))) {
    const lacking = rights.length > 0 ? `; lacking: ${rights.join(', ')}` : '';
    return broken(`not all could be removed${earlier}`, `Remove by hand what has _verify_ in its name${lacking}.`);
  }
  if (rights.length > 0) return unknown(`these credentials lack the right ${rights.join(', ')}${earlier}`);
  const found = removed.length > 0 ? `removed only now: ${removed.join(', ')}` : 'nothing temporary is left';
  return holds(`${found}${earlier}`);
}
