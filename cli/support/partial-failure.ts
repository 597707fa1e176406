import { awsErrorText } from './aws-error.ts';
import { CommandError, ENVIRONMENT } from './exit.ts';

/**
 * The error of a command that had done a part of its work. Writes the document of `--json`.
 * @param done what is done and what is not; empty where only the document says it
 * @param document for `--json`; `undefined` without
 */
export function partialFailure(error: unknown, done: string, document: object | undefined): CommandError {
  const sentence = [sentenceOf(error), done].filter(Boolean).join(' ');
  if (document) process.stdout.write(`${JSON.stringify({ ok: false, error: sentence, ...document })}\n`);
  const exitCode = error instanceof CommandError ? error.exitCode : ENVIRONMENT;
  return new CommandError(sentence, exitCode, { cause: error, documented: document !== undefined });
}

function sentenceOf(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  const other = error instanceof Error ? `${error.name}: ${error.message.replace(/[.]?$/, '.')}` : String(error);
  return awsErrorText(error) ?? other;
}
