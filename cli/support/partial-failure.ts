import { awsTrouble } from './aws-trouble.ts';
import { CommandError, ENVIRONMENT } from './exit.ts';

/**
 * The end of a command that had done a part of its work: the trouble, and what was done before it. Of `--json` it writes the
 * document.
 * @param done what is done, and what is not; empty where the document alone says it
 * @param document the same for `--json`; `undefined` without
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
  return awsTrouble(error) ?? other;
}
