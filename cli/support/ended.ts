import { ConfigurationError } from '../../core/config/configuration.ts';
import { RunError } from '../../core/errors.ts';
import { awsErrorText } from './aws-error.ts';
import { CommandError, codeOf, ENVIRONMENT, USAGE } from './exit.ts';
import { printJson } from './print.ts';

interface Ended {
  sentence: string;
  code: number;
  /** The document of `--json` is written already. */
  documented?: boolean;
}

/** Every end of a command that is not its success: one sentence, and a code by its class. */
export function ended(error: unknown): Ended {
  if (error instanceof CommandError) {
    return { sentence: error.message, code: error.exitCode, documented: error.documented };
  }
  if (error instanceof ConfigurationError) {
    return { sentence: error.message.replace(/^/gm, 'ConfigInvalid: '), code: USAGE };
  }
  if (error instanceof RunError) {
    return { sentence: awsErrorText(error) ?? `${error.name}: ${error.failure.cause}`, code: codeOf(error) };
  }
  const other = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { sentence: awsErrorText(error) ?? other, code: ENVIRONMENT };
}

/**
 * The error of a command that had done a part of its work. Writes the document of `--json`.
 * @param done what is done and what is not
 * @param document for `--json`; `undefined` without
 */
export function partialFailure(error: unknown, done: string, document?: object): CommandError {
  const own = error instanceof CommandError;
  const other = error instanceof Error ? `${error.name}: ${error.message.replace(/[.]?$/, '.')}` : String(error);
  const sentence = `${own ? error.message : (awsErrorText(error) ?? other)} ${done}`;
  if (document) printJson({ ok: false, error: sentence, ...document });
  const exitCode = own ? error.exitCode : ENVIRONMENT;
  return new CommandError(sentence, exitCode, { cause: error, documented: document !== undefined });
}
