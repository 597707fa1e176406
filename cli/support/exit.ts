import type { RunError } from '../../core/errors.ts';

/** A run ended in an error, or is not published: exit code 1. */
export const RUN_FAILED = 1;
/** Usage or configuration: exit code 2. */
export const USAGE = 2;
/** The environment: no credentials, no stack, nothing that answers: exit code 3. */
export const ENVIRONMENT = 3;
/** A person stopped following (Ctrl-C): exit code 130, as with `npm start`. */
export const INTERRUPTED = 130;

interface CommandErrorOptions {
  cause?: unknown;
  /** The document of `--json` is written already; else the error is printed as one. */
  documented?: boolean;
}

/** What ends a command: a sentence for the person, and a code for the script that called. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;
  readonly documented: boolean;

  constructor(message: string, exitCode: number, { documented = false, ...options }: CommandErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.documented = documented;
  }
}

/** The code for an error of the list that a command meets itself, outside of a run. */
export function codeOf(error: RunError): number {
  if (error.name === 'ConfigInvalid') return USAGE;
  // A right that the person's credentials lack.
  if (error.name === 'StorageDenied') return ENVIRONMENT;
  return error.transient ? ENVIRONMENT : RUN_FAILED;
}
