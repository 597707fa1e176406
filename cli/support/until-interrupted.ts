import { CommandError, INTERRUPTED } from './exit.ts';

/** A command that was interrupted has ended by then; if it has not, the next signal ends it. */
const ENDING_MS = 2000;

/** Work that Ctrl-C ends. @throws CommandError (exit code 130) with these words, or the one with which the work itself ended so */
export async function untilInterrupted<T>(words: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController();
  const abort = (name: NodeJS.Signals) => interrupt.abort(new Error(`interrupted by ${name}`));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  // A signal may come twice: npm passes on what the terminal has sent to both.
  for (const name of signals) process.on(name, abort);
  try {
    return await work(interrupt.signal);
  } catch (error) {
    const said = error instanceof CommandError && error.exitCode === INTERRUPTED;
    if (!interrupt.signal.aborted || said) throw error;
    throw new CommandError(words, INTERRUPTED, { cause: error });
  } finally {
    const end = () => {
      for (const name of signals) process.off(name, abort);
    };
    // The second one may come while the command ends by the first.
    if (interrupt.signal.aborted) setTimeout(end, ENDING_MS).unref();
    else end();
  }
}
