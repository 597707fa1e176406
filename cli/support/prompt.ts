import { CommandError, INTERRUPTED, USAGE } from './exit.ts';

type Prompts = typeof import('@inquirer/prompts');
type Place = NonNullable<Parameters<Prompts['input']>[1]>;

/**
 * Asks a person at the terminal. Questions go to standard error, for standard output is for results.
 * @param nothing what was not done where no answer comes
 * @throws CommandError at Ctrl-C (exit code 130), or at the end of the input (exit code 2)
 */
export async function ask<T>(question: (prompts: Prompts, place: Place) => Promise<T>, nothing: string): Promise<T> {
  const prompts = await import('@inquirer/prompts');
  const ended = new AbortController();
  // Ctrl-D closes the input, which pauses it. The library does not settle its promise then.
  const end = () => ended.abort();
  process.stdin.once('pause', end);
  try {
    return await question(prompts, { output: process.stderr, signal: ended.signal });
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (name === 'ExitPromptError') throw new CommandError(`Interrupted. ${nothing}`, INTERRUPTED, { cause: error });
    if (name !== 'AbortPromptError') throw error;
    throw new CommandError(`Not everything was answered. ${nothing}`, USAGE, { cause: error });
  } finally {
    process.stdin.off('pause', end);
  }
}
