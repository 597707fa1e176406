import { CommandError, ENVIRONMENT } from '../../cli/support/exit.ts';

/** A requirement outside of the program is missing or fails (Python, network, port, deployment): exit code 3. */
export class EnvironmentError extends CommandError {
  override readonly name = 'EnvironmentError';
  /** A log whose last lines explain the failure. */
  readonly logFile: string | undefined;

  /** @param message one sentence with the problem, then the remedy */
  constructor(message: string, { logFile, cause }: { logFile?: string; cause?: unknown } = {}) {
    super(message, ENVIRONMENT, { cause });
    this.logFile = logFile;
  }
}
