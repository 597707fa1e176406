import type { RunError } from '../../core/errors.ts';

/** A run ended in an error, or is not published: exit code 1. */
export const RUN_FAILED = 1;
/** Invalid usage or configuration: exit code 2. */
export const USAGE = 2;
/** The environment fails: no credentials, no stack, no answer: exit code 3. */
export const ENVIRONMENT = 3;
/** A person pressed Ctrl-C: exit code 130, as with `npm start`. */
export const INTERRUPTED = 130;

type CommandErrorOptions = ErrorOptions & { documented?: boolean };

/** An error that ends a command: a sentence for the person, and an exit code for the calling script. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
  readonly exitCode: number;
  /** The command has already printed the document of `--json`; otherwise the error is printed as a document. */
  readonly documented: boolean;

  constructor(message: string, exitCode: number, { documented = false, ...options }: CommandErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.documented = documented;
  }
}

/** The error for invalid usage or configuration. */
export function usageError(sentence: string, cause?: unknown): CommandError {
  return new CommandError(sentence, USAGE, { cause });
}

/** The exit code for a `RunError` that occurs in a command, outside of a run. */
export function codeOf(error: RunError): number {
  if (error.name === 'ConfigInvalid') return USAGE;
  // The credentials of the person lack a right.
  if (error.name === 'StorageDenied') return ENVIRONMENT;
  return error.transient ? ENVIRONMENT : RUN_FAILED;
}
