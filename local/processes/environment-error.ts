/** A requirement outside of the program is missing or fails (Python, network, port, deployment): exit code 3. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly exitCode = 3;
  /** A log whose last lines explain the failure. */
  readonly logFile: string | undefined;

  /** one sentence with the problem, then the remedy */
  constructor(message: string, options: { logFile?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.logFile = options.logFile;
  }
}
