import { createHash } from 'node:crypto';
import { canonicalText } from '../../json.ts';
import type { FeedEnd, FeedHead, FeedPair } from './head.ts';

/** How the feed of an entity is configured, by names of the table's columns. */
export interface FeedSettings {
  key: string[];
  ignore: string[];
  /** Largest share of the keys that may be gone. */
  maxRemoved: number;
}

/** Longer ago than a function can run, which is 15 minutes. */
const SURELY_ENDED_MS = 20 * 60_000;
/** A pair that was begun so often without an end is given back. */
const MOST_ATTEMPTS = 2;

/** The pair that comes next; nobody has begun it yet. */
export function nextPair(
  { sequence, end: from, release }: FeedHead,
  to: FeedEnd,
  kind: FeedPair['kind'],
  { maxRemoved, now }: { maxRemoved: number; now: Date },
): FeedPair {
  const judged = { maxRemoved: release === null ? maxRemoved : null, released: release };
  return { sequence: sequence + 1, kind, from, to, ...judged, attempts: 0, attemptedAt: now.toISOString() };
}

/** What a feed says of the pair that it is of: 32 hexadecimal digits. */
export function pairDigest({ attempts: _, attemptedAt: __, ...pair }: FeedPair): string {
  return createHash('sha256').update(canonicalText(pair)).digest('hex').slice(0, 32);
}

/** The pair as one more has begun it. */
export function begun(pair: FeedPair, now: Date): FeedPair {
  return { ...pair, attempts: pair.attempts + 1, attemptedAt: now.toISOString() };
}

/** Whether none of those who began the pair can still write its feed. */
export function isLeft({ attempts, attemptedAt }: FeedPair, now: Date): boolean {
  return attempts === 0 || now.getTime() - Date.parse(attemptedAt) > SURELY_ENDED_MS;
}

/** Whether those who began the pair have died of it, and none of them can still write. */
export function isGivenUp(pair: FeedPair, now: Date): boolean {
  return pair.attempts >= MOST_ATTEMPTS && isLeft(pair, now);
}
