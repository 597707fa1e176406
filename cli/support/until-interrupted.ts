import { CommandError, INTERRUPTED } from './exit.ts';

/** Time for an interrupted command to end; after that, the next signal ends the process. */
const ENDING_MS = 2000;
let isInterrupted = false;

/** Runs work that Ctrl-C aborts. @throws CommandError (exit code 130) with `words`, or the error of the work */
export async function untilInterrupted<T>(words: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController();
  const abort = (name: NodeJS.Signals) => {
    isInterrupted = true;
    interrupt.abort(new Error(`interrupted by ${name}`));
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  // A signal may come twice: from the terminal, and from npm, which forwards it.
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
    // The second signal may come while the command ends because of the first.
    if (interrupt.signal.aborted) setTimeout(end, ENDING_MS).unref();
    else end();
  }
}

/** Ends this process with an exit code; at once, if a person has interrupted the process. */
export function endWith(code: number): void {
  // When Node exits by itself, it first removes the signal handlers, so a second signal would replace the exit code.
  if (isInterrupted) process.exit(code);
  process.exitCode = code;
}
