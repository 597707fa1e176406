import { START_TRIED_HOURS, type Start } from '../../core/schedule/timing.ts';
import type { Outcome } from '../runs/run/outcomes.ts';

/**
 * What became of an entity in a night: docs/operating.md, "What is said of a night". `gone`: published, but the bucket does not
 * show it any more; `due`: its start is still to come, or EventBridge may still deliver it; `none`: nothing was to be expected,
 * as before the first run.
 */
export type NightOutcome =
  | 'published'
  | 'warned'
  | 'failed'
  | 'gone'
  | 'missing'
  | 'running'
  | 'due'
  | 'paused'
  | 'none';

/** What is known of the date of an entity, and what was to be expected of it. */
export interface KnownOfNight {
  now: Date;
  /** The run that counts for the date; `undefined` where none is published. */
  published: { warned: boolean } | undefined;
  /** How the last of the runs without a file that counts stands. */
  lastAttempt: { outcome: Outcome } | undefined;
  /** The starts of the rule that have the date. */
  starts: Start[];
  /** When the first known run was started: before that nothing is missing. */
  since: Date | undefined;
}

const HOUR_MS = 60 * 60_000;
/** A run that was started just now may not be listed yet. */
const LISTED_AFTER_MS = 15 * 60_000;

export function nightOutcome({ now, published, lastAttempt, starts, since }: KnownOfNight): NightOutcome {
  if (published) return published.warned ? 'warned' : 'published';
  if (lastAttempt?.outcome === 'running' || lastAttempt?.outcome === 'gone') return lastAttempt.outcome;
  if (lastAttempt) return 'failed';
  return withoutRun(now, starts, since);
}

/** A start is missing once nothing brings its run any more: until then EventBridge delivers it, be it late. */
function withoutRun(now: Date, starts: Start[], since: Date | undefined): NightOutcome {
  if (since === undefined) return 'none';
  const expected = starts.filter(({ at }) => at >= since);
  const lost = new Date(now.getTime() - START_TRIED_HOURS * HOUR_MS - LISTED_AFTER_MS);
  if (expected.some(({ at }) => at <= lost)) return 'missing';
  // The first night of all: of starts at one minute, one run may be listed before the others.
  const fresh = starts.some(({ at }) => at.getTime() > now.getTime() - LISTED_AFTER_MS);
  return fresh || expected.length > 0 ? 'due' : 'none';
}

/** Whether a file may still come by itself. */
export function isOpen({ outcome }: { outcome: NightOutcome }): boolean {
  return outcome === 'running' || outcome === 'due';
}

/** Whether an expected file is not there, and does not come by itself any more. */
export function isMissing({ outcome }: { outcome: NightOutcome }): boolean {
  return outcome === 'failed' || outcome === 'gone' || outcome === 'missing';
}

/** Whether the file of the night is there. */
export function isPublished({ outcome }: { outcome: NightOutcome }): boolean {
  return outcome === 'published' || outcome === 'warned';
}
