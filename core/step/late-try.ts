import type { RunError } from '../errors.ts';
import { troubleOf, waitFor } from './export-run.ts';
import type { Invocation } from './invocation.ts';
import type { RunState } from './states.ts';

/** How often, and how long apart, a file that is stored whole is tried again after the deadline. */
const LATE = { waitSeconds: 30, tries: 5 } as const;

/** The answer to a transient error after the deadline; `undefined` before it, where the wrapper waits, and at the last try. */
export function lateTry(error: RunError, state: RunState, invocation: Invocation) {
  if (waitFor(state, invocation) || state.lateTries >= LATE.tries) return undefined;
  const { waitSeconds } = LATE;
  const trouble = troubleOf(error, state, invocation);
  return { outcome: 'CONTINUE' as const, lateTries: state.lateTries + 1, waitSeconds, trouble };
}
