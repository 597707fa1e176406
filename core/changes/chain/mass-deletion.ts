import type { Counts } from '../compare-part.ts';
import type { FeedPair } from './head.ts';

/** What is known when a feed is made, before it is written: what was compared, and the rows of the table that it ends at. */
export interface Judged extends Counts {
  rows: number;
}

/** With fewer keys a share says little. */
const FEWEST_KEYS = 20;

/** More keys are gone than the configuration lets pass. */
export class MassDeletion extends Error {
  readonly keys: number;
  readonly gone: number;
  readonly of: 'keys' | 'rows';

  /** @param of what was counted */
  constructor(keys: number, gone: number, of: 'keys' | 'rows') {
    super('a mass deletion');
    this.keys = keys;
    this.gone = gone;
    this.of = of;
  }
}

/**
 * @throws MassDeletion where more than `maxRemoved` of the keys are gone; a pair without it lets everything through. Of a snapshot,
 * which has nothing to be compared with, the rows count: those of the last table that was told stand in the pair.
 */
export function judgeDeletion(
  { rows, ...counts }: Judged,
  { kind, from, maxRemoved }: Pick<FeedPair, 'kind' | 'from' | 'maxRemoved'>,
): void {
  const told = from?.rows ?? 0;
  const { keys, gone } = kind === 'snapshot' ? { keys: told, gone: told - rows } : counts;
  // As a quotient: of 0.29 times 100, 29 would be more.
  if (maxRemoved === null || keys < FEWEST_KEYS || gone / keys <= maxRemoved) return;
  throw new MassDeletion(keys, gone, kind === 'snapshot' ? 'rows' : 'keys');
}
