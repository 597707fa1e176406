import { setTimeout as sleep } from 'node:timers/promises';
import { awsErrorText, RESTORE } from '../../support/aws-error.ts';
import { CommandError } from '../../support/exit.ts';
import { plain } from '../../support/text.ts';
import { callOf } from './calls.ts';
import { NotChecked } from './pace.ts';
import type { Verifying } from './verifying.ts';

export { NotChecked };

/** What a check came to. `ok` is null where it could not be made, and `why` says why; where it did not hold, what should have been. */
export interface Finding {
  ok: boolean | null;
  found: string | null;
  why: string | null;
}

/** One thing that only the deployed system can show. */
export interface Check {
  id: string;
  /** What is done, for a person. */
  does: string;
  /** It makes something: not without the lock. */
  makes?: true;
  look: (verifying: Verifying) => Promise<Finding>;
}

export interface Checked extends Finding {
  id: string;
  does: string;
}

export function held(found: string): Finding {
  return { ok: true, found, why: null };
}

export function broken(found: string, why: string): Finding {
  return { ok: false, found, why };
}

/** Holds where nothing is wrong. */
export function heldUnless(wrong: string[], found: string, why = `${RESTORE}.`): Finding {
  return wrong.length === 0 ? held(found) : broken(wrong.join('; '), why);
}

/** Makes one check. An error becomes its finding, and the others are made. */
export async function checked({ id, does, makes, look }: Check, verifying: Verifying): Promise<Checked> {
  try {
    if (makes && verifying.readOnly) throw new NotChecked(verifying.readOnly);
    return { id, does, ...(await look(verifying)) };
  } catch (error) {
    return { id, does, ...findingOf(error) };
  }
}

const DENIED = /^(AccessDenied|AuthorizationError|Forbidden|NotAuthorized|UnauthorizedOperation)/;
/** AWS names every error that it answers. */
const UNKNOWN = /^(InvalidAction|NotImplemented|Unknown|UnsupportedOperation)/;
const GONE = /NotFound|NonExistent|DoesNotExist|^NoSuch/;

function findingOf(error: unknown): Finding {
  const unchecked = (why: string): Finding => ({ ok: null, found: null, why });
  if (error instanceof NotChecked) return unchecked(error.message);
  if (error instanceof CommandError) return broken(error.message, 'docs/verify.md says what should be there.');
  const missing = missingRight(error);
  if (missing) return unchecked(`these credentials lack the right ${missing}`);
  const { name, message } = error instanceof Error ? error : { name: 'unknown error', message: '' };
  const what = `${callOf(error) ?? 'a call'} was answered by ${name}`;
  if (UNKNOWN.test(name)) return unchecked(`this cloud does not have it: ${what}`);
  if (GONE.test(name)) return broken(`${what}: ${plain(message)}`, `${RESTORE}.`);
  const trouble = awsErrorText(error);
  if (trouble) return unchecked(trouble);
  // Its words may quote data.
  return broken(what, 'Look again; if it stays, tell the developers.');
}

/** The right for want of which AWS refused: in AWS's words where it says so, else by the call. */
export function missingRight(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const status = '$metadata' in error ? (error.$metadata as { httpStatusCode?: number }).httpStatusCode : undefined;
  if (!DENIED.test(error.name) && status !== 403) return undefined;
  return /perform:? ([a-z0-9-]+:\w+)/i.exec(error.message)?.[1] ?? callOf(error) ?? 'for it';
}

/**
 * Looks until there is something, or patience ends.
 * @returns what was seen last
 * @throws the signal's reason
 */
export async function lookUntil<T>(
  look: () => Promise<T>,
  enough: (seen: T) => boolean,
  { pace, signal }: Pick<Verifying, 'pace' | 'signal'>,
): Promise<T> {
  const end = performance.now() + pace.patienceMs;
  for (;;) {
    signal.throwIfAborted();
    const seen = await look();
    if (enough(seen) || performance.now() >= end) return seen;
    await sleep(pace.everyMs, undefined, { signal });
  }
}
