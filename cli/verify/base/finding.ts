import { setTimeout as sleep } from 'node:timers/promises';
import { RESTORE } from '../../support/aws-error.ts';

/** What a check came to. `ok` is null where it could not be made, and `why` says why; where it did not hold, what should have been. */
export interface Finding {
  ok: boolean | null;
  found: string | null;
  why: string | null;
}

export function held(found: string): Finding {
  return { ok: true, found, why: null };
}

export function broken(found: string, why: string): Finding {
  return { ok: false, found, why };
}

/** Nothing was found out: no reproach to the deployment. */
export class NotChecked extends Error {}

/** Holds where nothing is wrong. */
export function heldUnless(wrong: string[], found: string, why = `${RESTORE}.`): Finding {
  return wrong.length === 0 ? held(found) : broken(wrong.join('; '), why);
}

/** How often something is looked at, and for how long. */
export interface Pace {
  everyMs: number;
  /** Logs, traces and metrics come minutes after the run. */
  patienceMs: number;
  /** An export that takes longer is not waited for. */
  runMs: number;
}

/**
 * Looks until there is something, or patience ends.
 * @returns what was seen last
 * @throws the signal's reason
 */
export async function lookUntil<T>(
  look: () => Promise<T>,
  enough: (seen: T) => boolean,
  { pace, signal }: { pace: Pace; signal: AbortSignal },
): Promise<T> {
  const end = performance.now() + pace.patienceMs;
  for (;;) {
    signal.throwIfAborted();
    const seen = await look();
    if (enough(seen) || performance.now() >= end) return seen;
    await sleep(pace.everyMs, undefined, { signal });
  }
}
