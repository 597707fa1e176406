import { RunError } from '../errors.ts';

/** A right that is missing does not come by waiting. Said by functions and by the command alike, so it advises both. */
export function accessDenied(what: string, cause: unknown): RunError {
  const advice =
    'deploy the stack again with --revert-drift if a function says this; a person needs another --profile, or the rights that docs/security.md lists';
  return new RunError('ConfigInvalid', `${what} with these credentials: ${advice}.`, { cause });
}
