/** Something outside of the program is missing or refuses to work (Python, network, port, deployment): exit code 3. */
export class EnvironmentError extends Error {
  override readonly name = 'EnvironmentError';
  readonly exitCode = 3;
  /** A log whose last lines explain the failure. */
  readonly logFile: string | undefined;

  /** @param message One sentence that says what is wrong, then what to do. */
  constructor(message: string, options: { logFile?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.logFile = options.logFile;
  }
}

/** The user's configuration was refused: exit code 2. The message names what is wrong with it. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly exitCode = 2;
}
