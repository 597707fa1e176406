import { FEED_DISK_MB } from '../../core/changes/feed-disk.ts';
import { FeedError } from '../../core/changes/feed-error.ts';
import { RunError } from '../../core/errors.ts';
import { type Answer, waitFor } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import { lateTry } from '../../core/step/late-try.ts';
import type { RunState } from '../../core/step/states.ts';

/** Errors that say by their own name what became of the feed. */
const OWN = ['ChangesStopped', 'ChangesNotWritten', 'InvalidInput'];

/**
 * What is transient is tried again, until the deadline and a little longer. Everything else that keeps a feed from being
 * written has one name, for file and table are published.
 * @throws RunError `ChangesNotWritten`, `ChangesStopped`; what is a bug
 */
export function afterTrouble(error: unknown, state: RunState, invocation: Invocation): Answer<'WriteChanges'> {
  if (error instanceof FeedError) throw notWritten(error);
  if (isDiskFull(error))
    throw notWritten(new Error(`The tables do not fit on the function's disk of ${FEED_DISK_MB} MB.`));
  if (!(error instanceof RunError) || OWN.includes(error.name)) throw error;
  if (!error.transient) throw notWritten(error);
  // The wrapper waits where it may.
  if (waitFor(state, invocation)) throw error;
  const later = lateTry(error, state, invocation);
  if (later) return later;
  throw notWritten(error);
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC';
}

function notWritten(why: Error): RunError {
  return new RunError('ChangesNotWritten', `The feed of changes is not written. ${why.message}`, { cause: why });
}
