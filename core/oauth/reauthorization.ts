import { RunError } from '../errors.ts';

/** The error of a dead grant: secret, generation, time, reason, command. */
export function reauthorization(
  versionId: string,
  death: { reason: string; diedAt: string },
  names: { secretId: string; authorizeCommand: string },
): RunError {
  const since = death.diedAt ? ` since ${death.diedAt}` : '';
  const reason = /[.!?]$/.test(death.reason) ? death.reason : `${death.reason}.`;
  return new RunError(
    'ReauthorizationRequired',
    `The grant in the secret ${names.secretId} (generation ${versionId}) is dead${since}: ${reason} Run: ${names.authorizeCommand}.`,
  );
}
