import type { Counts } from '../compare-part.ts';
import type { FeedPair } from './head.ts';

/** With fewer keys a share says little. */
const FEWEST_KEYS = 20;

/** More keys are gone than the configuration lets pass. */
export class MassDeletion extends Error {
  readonly counts: Counts;

  constructor(counts: Counts) {
    super('a mass deletion');
    this.counts = counts;
  }
}

/** @throws MassDeletion where more than `maxRemoved` of the keys are gone; a pair without it lets everything through */
export function judgeDeletion(counts: Counts, { kind, maxRemoved }: Pick<FeedPair, 'kind' | 'maxRemoved'>): void {
  const { keys, gone } = counts;
  if (kind === 'snapshot' || maxRemoved === null || keys < FEWEST_KEYS) return;
  if (gone > maxRemoved * keys) throw new MassDeletion(counts);
}
