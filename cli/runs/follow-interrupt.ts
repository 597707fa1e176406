import { CommandError, INTERRUPTED } from '../support/exit.ts';

/**
 * Work that Ctrl-C ends without ending what it looks at.
 * @param words what a person reads then
 * @throws CommandError (exit code 130) with these words
 */
export async function untilInterrupted<T>(words: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController();
  const abort = (name: NodeJS.Signals) => interrupt.abort(new Error(`interrupted by ${name}`));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  // Twice is as good as once: npm passes on what the terminal has sent to both already.
  for (const name of signals) process.on(name, abort);
  try {
    return await work(interrupt.signal);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    throw new CommandError(words, INTERRUPTED, { cause: error });
  } finally {
    for (const name of signals) process.off(name, abort);
  }
}
